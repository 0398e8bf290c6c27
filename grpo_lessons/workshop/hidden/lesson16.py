"""Hidden inputs of lesson 16: an environment that begins, spans of no token, other calls, other shares."""

INPUTS = {
    "16.loss_mask": (
        ([("environment", 2), ("policy", 3)],),
        ([("policy", 2), ("policy", 1), ("environment", 4), ("policy", 1)],),
        ([("policy", 1), ("environment", 0), ("policy", 2)],),
        ([("policy", 4), ("environment", 1), ("policy", 2), ("environment", 3), ("policy", 1)],),
    ),
    "16.read_call": (
        ("<call>look_up: Oslo</call>",),
        ("Who was it?\nI ask. <call>search: the mayor of Graisen</call>",),
        ("<call>add: 1+2</call><result>3</result> So <call>add: 3+4</call>",),
        ("<call>search: odds of 3:4</call>",),
        ("<call>search:Fand</call>",),
        ("<call> search :  Fand, a ship </call>",),
        ("<call>search: Fand</call><result>Fand is a ship.</result>",),
        ("<call>search: Fand</call>.",),
        ("<call>: Fand</call>",),
        ("<call>search: </call>",),
        ("<call></call>",),
        ("</call>",),
        ("<call>search: Fand</call",),
        ("The answer is 3: yes",),
        ("",),
    ),
    "16.break_even": ((0.75, 0.25, 2), (0.6, 0.0, 3), (0.3, 0.9, 2), (0.5, 0.5, 4), (1.0, 0.2, 1)),
}
