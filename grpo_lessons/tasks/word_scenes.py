"""The sentences of the word problems: scenes in English and Brazilian Portuguese, each used by one split only.

A scene gives an opening, one sentence for each operation, sentences whose number does not matter, and the question.
{who} is a name, {n} a number, {k} a small factor.
"""

from __future__ import annotations

from dataclasses import dataclass

NAMES = {
    "en": ("Ada", "Ben", "Clara", "Dan", "Ella", "Finn", "Grace", "Hugo", "Iris", "Jack", "Kate", "Leo"),
    "pt": ("Ana", "Bruno", "Carla", "Davi", "Elisa", "Fábio", "Gabi", "Heitor", "Irene", "João", "Lívia", "Mateus"),
}


@dataclass(frozen=True)
class Scene:
    """opening and question frame the story; plus, minus, times and share (one of k equal parts) change the count."""

    opening: str
    plus: str
    minus: str
    times: str
    share: str
    beside: tuple[str, ...]
    question: str


SCENES: dict[str, dict[str, tuple[Scene, ...]]] = {
    "en": {
        "train": (
            Scene(
                "{who} has {n} marbles.",
                "{who} finds {n} more under the sofa.",
                "{who} gives {n} to a friend.",
                "After a long game of swaps {who} has {k} times as many.",
                "{who} sorts them into {k} equal bags and keeps only one bag.",
                ("The bag cost {n} cents.", "The sofa is {n} years old."),
                "How many marbles does {who} have now?",
            ),
            Scene(
                "A bakery starts the day with {n} rolls.",
                "The oven brings {n} fresh ones.",
                "A customer buys {n} of them.",
                "At noon {who} bakes until there are {k} times as many.",
                "{who} shares them out equally over {k} shops, this one among them.",
                ("Each roll weighs {n} grams.", "The bakery opened {n} years ago."),
                "How many rolls does this bakery have in the end?",
            ),
            Scene(
                "{who} reads a book and is on page {n}.",
                "On Monday {who} reads {n} pages further.",
                "Then {who} goes back {n} pages to read a scene again.",
                "Over the holidays {who} gets to a page number {k} times as high.",
                "{who} takes an edition with {k} times as much text on a page, so the page number is divided by {k}.",
                ("The book costs {n} dollars.", "The library has {n} copies."),
                "On which page is {who} now?",
            ),
            Scene(
                "There are {n} birds in a tree.",
                "A flock of {n} joins them.",
                "A cat comes and {n} fly away.",
                "In spring there are {k} times as many.",
                "They spread evenly over {k} trees, the old tree being one of them.",
                ("The tree is {n} metres high.", "{who} watches them for {n} minutes."),
                "How many birds sit in the old tree?",
            ),
            Scene(
                "{who} saved {n} coins.",
                "For washing the car {who} gets {n} coins.",
                "A comic costs {who} {n} coins.",
                "A generous aunt makes it {k} times as much.",
                "{who} splits the coins equally among {k} children, {who} included.",
                ("The car is {n} years old.", "The comic has {n} pages."),
                "How many coins does {who} have?",
            ),
        ),
        "dev": (
            Scene(
                "A bus leaves the station with {n} passengers.",
                "At the market {n} people get on.",
                "At the school {n} people get off.",
                "At the stadium the number of passengers grows to {k} times what it was.",
                "At the depot they change evenly into {k} buses, one of which drives on.",
                ("The driver has worked for {n} hours.", "The bus line has the number {n}."),
                "How many passengers are on the bus that drives on?",
            ),
            Scene(
                "{who} planted {n} tulips.",
                "A neighbour adds {n} tulips to the bed.",
                "A storm breaks {n} of them.",
                "The next year there are {k} times as many.",
                "{who} gives away equal bunches and is left with one bunch out of {k}.",
                ("The bed is {n} steps long.", "It rained on {n} days."),
                "How many tulips are left to {who}?",
            ),
        ),
        "held_out": (
            Scene(
                "A library owns {n} maps.",
                "A collector donates {n} maps.",
                "The archive borrows {n} maps and does not return them.",
                "A merger makes the collection {k} times as large.",
                "The maps are divided equally between {k} branches; {who} counts those of one branch.",
                ("The oldest map is {n} years old.", "The reading room has {n} chairs."),
                "How many maps does {who} count at the end?",
            ),
            Scene(
                "In a game {who} has {n} points.",
                "A bonus brings {who} {n} points.",
                "A mistake costs {who} {n} points.",
                "A magic card multiplies the score by {k}.",
                "A curse divides the score by {k}.",
                ("The game takes {n} minutes.", "There are {n} cards on the table."),
                "What is the score of {who}?",
            ),
            Scene(
                "A farmer collects {n} eggs before breakfast.",
                "By midday the hens lay {n} more.",
                "{who} drops a basket and {n} eggs break.",
                "By the weekend the store holds {k} times as many.",
                "The eggs are packed into {k} crates of the same size and all crates but one are sold.",
                ("There are {n} hens.", "The road to town is {n} kilometres long."),
                "How many eggs remain on the farm?",
            ),
        ),
    },
    "pt": {
        "train": (
            Scene(
                "{who} tem {n} bolinhas de gude.",
                "{who} acha mais {n} debaixo do sofá.",
                "{who} dá {n} a um amigo.",
                "Depois de muitas trocas, {who} fica com {k} vezes o que tinha.",
                "{who} separa tudo em {k} saquinhos iguais e fica com um só.",
                ("O saquinho custou {n} centavos.", "O sofá tem {n} anos."),
                "Quantas bolinhas {who} tem agora?",
            ),
            Scene(
                "Uma padaria começa o dia com {n} pãezinhos.",
                "Saem do forno mais {n}.",
                "Um cliente compra {n}.",
                "Ao meio-dia, {who} assa até haver {k} vezes o que havia.",
                "{who} reparte tudo igualmente entre {k} lojas, esta incluída.",
                ("Cada pãozinho pesa {n} gramas.", "A padaria abriu há {n} anos."),
                "Com quantos pãezinhos esta padaria fica no fim?",
            ),
            Scene(
                "Há {n} pássaros em uma árvore.",
                "Chega um bando de {n}.",
                "Aparece um gato e {n} vão embora.",
                "Na primavera há {k} vezes o que havia.",
                "Eles se espalham por igual em {k} árvores, sendo uma delas a árvore antiga.",
                ("A árvore tem {n} metros de altura.", "{who} observa por {n} minutos."),
                "Quantos pássaros estão na árvore antiga?",
            ),
            Scene(
                "{who} juntou {n} moedas.",
                "Por lavar o carro, {who} ganha {n} moedas.",
                "Um gibi custa a {who} {n} moedas.",
                "Uma tia generosa faz a quantia virar {k} vezes o que era.",
                "{who} divide as moedas igualmente entre {k} crianças, contando consigo.",
                ("O carro tem {n} anos.", "O gibi tem {n} páginas."),
                "Quantas moedas {who} tem?",
            ),
        ),
        "dev": (
            Scene(
                "Um ônibus sai da rodoviária com {n} passageiros.",
                "No mercado sobem {n} pessoas.",
                "Na escola descem {n} pessoas.",
                "No estádio o número de passageiros passa a ser {k} vezes o que era.",
                "Na garagem todos se distribuem por igual em {k} ônibus, e um deles segue viagem.",
                ("O motorista trabalha há {n} horas.", "O número da linha é {n}."),
                "Quantos passageiros há no ônibus que segue viagem?",
            ),
        ),
        "held_out": (
            Scene(
                "Uma biblioteca possui {n} mapas.",
                "Um colecionador doa {n} mapas.",
                "O arquivo leva {n} mapas e não os devolve.",
                "Uma fusão faz o acervo ter {k} vezes o tamanho que tinha.",
                "Os mapas são divididos igualmente entre {k} filiais; {who} conta os de uma filial.",
                ("O mapa mais antigo tem {n} anos.", "A sala de leitura tem {n} cadeiras."),
                "Quantos mapas {who} conta no fim?",
            ),
            Scene(
                "Em um jogo, {who} tem {n} pontos.",
                "Um bônus rende {n} pontos a {who}.",
                "Um erro custa {n} pontos a {who}.",
                "Uma carta mágica multiplica a pontuação por {k}.",
                "Uma maldição divide a pontuação por {k}.",
                ("O jogo dura {n} minutos.", "Há {n} cartas na mesa."),
                "Qual é a pontuação de {who}?",
            ),
        ),
    },
}
