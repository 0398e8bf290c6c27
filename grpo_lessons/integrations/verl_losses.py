"""For verl's external_lib: importing this module registers the losses with their defaults (see `verl.register`)."""

from .verl import register

register()
