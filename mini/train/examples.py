"""Everything that is trained on, as pairs of texts with what is right about them."""

import gzip
import json
import os
import random
import re
from typing import Iterator, NamedTuple

from pair_texts import option_text, tool_text, value_text, words
from phrases import EVERYDAY, GROUPS, SMALL_TALK
from values import UNITS, value_of_type

DATA = os.environ["DATA"]
ABSENT = (-1, -1)


class Example(NamedTuple):
    """Either `relevant` is known, 0 or 1, or `span`: the characters of the value in what was said."""

    meant: str
    said: str
    relevant: int | None = None
    span: tuple[int, int] | None = None


def read(name: str):
    with gzip.open(os.path.join(DATA, name), "rt") as file:
        return json.load(file)


def all_examples() -> list[Example]:
    tools = read("tools.json.gz")
    sources = (
        from_dialogues(), from_tools(tools), from_snips(), from_clinc(), from_groups(60_000), from_natural(6),
        from_everyday(9_000),
    )
    examples = [example for source in sources for example in source]
    random.shuffle(examples)
    return examples


def from_dialogues() -> Iterator[Example]:
    """Schema-Guided Dialogue: each turn with the service in one of six wordings."""
    data = read("dialogues_train.json.gz")
    services = data["services"]

    def text(intent: dict) -> str:
        slots = list(intent.get("required_slots", [])) + list((intent.get("optional_slots") or {}).keys())
        return tool_text(intent["name"], intent["description"], slots)

    for record in data["records"]:
        said, wordings = record["said"], services[record["service"]]
        for _ in range(2 if "intent" in record else 0):
            service = random.choice(wordings)
            right = service["intents"][record["intent"]]
            yield Example(text(right), said, 1)
            yield from (Example(text(other), said, 0) for other in service["intents"] if other is not right)
            other = random.choice(services[random.choice(list(services))])
            if other["service_name"].split("_")[0] != record["service"].split("_")[0]:
                yield Example(text(random.choice(other["intents"])), said, 0)
        service = random.choice(wordings)
        intents = service["intents"]
        tool = intents[record.get("intent", 0)]["name"] if intents else service["service_name"]
        spans = {int(index): tuple(span) for index, span in record["spans"].items()}
        for index, span in spans.items():
            yield slot_example(service["slots"][index], tool, said, span)
        plain = wordings[0]["slots"]
        unsaid = [index for index, slot in enumerate(plain) if index not in spans and not slot["is_categorical"]]
        for index in random.sample(unsaid, min(2, len(unsaid))):
            yield slot_example(service["slots"][index], tool, said, ABSENT)
        for index, value in record["chosen"].items():
            slot = service["slots"][int(index)]
            for option in slot["possible_values"]:
                if option != "dontcare":
                    yield Example(option_text(slot["name"], slot["description"], option), said, int(str(option) == str(value)))


def slot_example(slot: dict, tool: str, said: str, span: tuple[int, int]) -> Example:
    return Example(value_text(slot["name"], slot["description"], tool), said, span=span)


OPENINGS = [
    "{}", "please {}", "can you {}", "could you {}?", "I want to {}", "I need to {}", "help me {}", "hey, {}",
    "I would like to {}", "{} for me",
]
IMPERATIVES = {
    "returns": "get", "gets": "get", "lists": "list", "creates": "create", "updates": "update", "deletes": "delete",
    "retrieves": "retrieve", "adds": "add", "removes": "remove", "sets": "set", "fetches": "fetch", "searches": "search",
}
ATTACHED = [
    " with {p} {v}", ", {p} {v}", " where the {p} is {v}", " using {v} as the {p}", " and {p} of {v}",
    ", the {p} should be {v}", " ({p}: {v})", " {p}={v}",
]
ATTACHED_ALONE = [" for {v}", " in {v}", " {v}"]


def as_request(description: str) -> str:
    sentence = re.split(r"[.\n]", description)[0].strip()
    first, _, rest = (sentence[:1].lower() + sentence[1:]).partition(" ")
    return f"{IMPERATIVES.get(first, first)} {rest}"[:120]


def made_request(tool: dict) -> tuple[str, dict[int, tuple[int, int]], dict[int, str]]:
    """A request made from a tool's own description, with some values."""
    said = random.choice(OPENINGS).replace("{}", as_request(tool["description"]))
    order = list(range(len(tool["parameters"])))
    random.shuffle(order)
    order = order[: random.choice([0, 1, 1, 2, 2, 3])]
    spans, chosen = {}, {}
    for index in order:
        parameter = tool["parameters"][index]
        if parameter["type"] == "boolean":
            continue
        options = parameter["options"]
        value = str(random.choice(options)) if options else value_of_type(parameter["type"])
        form = random.choice(ATTACHED + (ATTACHED_ALONE if len(order) == 1 else []))
        before, after = (part.replace("{p}", words(parameter["name"])) for part in form.split("{v}"))
        start = len(said) + len(before) + (1 if value.startswith("'") else 0)
        said += before + value + after
        if options:
            chosen[index] = value
        else:
            spans[index] = (start, start + len(value.strip("'")))
    return (said[:1].upper() + said[1:] if random.random() < 0.5 else said), spans, chosen


def from_tools(tools: list[dict]) -> Iterator[Example]:
    """Real names and descriptions. Half of the time the description is left out, since the request was made from it."""

    def text(tool: dict, described: bool = True) -> str:
        names = [parameter["name"] for parameter in tool["parameters"]]
        return tool_text(tool["name"], tool["description"] if described else "", names)

    for position, tool in enumerate(tools):
        for _ in range(2):
            said, spans, chosen = made_request(tool)
            yield Example(text(tool, random.random() < 0.5), said, 1)
            near = tools[min(len(tools) - 1, max(0, position + random.choice([-6, -5, -4, -3, -2, -1, 1, 2, 3, 4, 5, 6])))]
            if near["description"] != tool["description"]:
                yield Example(text(near), said, 0)
            yield Example(text(random.choice(tools)), said, 0)
            for index, parameter in enumerate(tool["parameters"]):
                if index in spans:
                    yield slot_example(parameter, tool["name"], said, spans[index])
                elif not parameter["options"] and parameter["type"] != "boolean" and random.random() < 0.5:
                    yield slot_example(parameter, tool["name"], said, ABSENT)
            for index, value in chosen.items():
                parameter = tool["parameters"][index]
                options = parameter["options"]
                for option in options if len(options) <= 5 else random.sample(options, 4) + [value]:
                    yield Example(option_text(parameter["name"], parameter["description"], option), said, int(str(option) == value))


def from_snips() -> Iterator[Example]:
    data = read("snips.json.gz")
    slots = data["slots"]
    for one in data["data"]:
        intent, said, spans = one["i"], one["u"], one["sp"]
        other = random.choice([name for name in slots if name != intent])
        yield Example(tool_text(intent, "", slots[intent]), said, 1)
        yield Example(tool_text(other, "", slots[other]), said, 0)
        for name, span in spans.items():
            yield Example(value_text(name, "", intent), said, span=tuple(span))
        unsaid = [name for name in slots[intent] if name not in spans]
        for name in random.sample(unsaid, min(2, len(unsaid))):
            yield Example(value_text(name, "", intent), said, span=ABSENT)


def from_clinc() -> Iterator[Example]:
    data = read("clinc.json.gz")
    intents = sorted({intent for _, intent in data["train"]})
    for said, intent in data["train"]:
        yield Example(tool_text(intent, "", []), said, 1)
        yield from (Example(tool_text(one, "", []), said, 0) for one in random.sample(intents, 2) if one != intent)
    for said, _ in data["oos"] * 5:
        yield Example(tool_text(random.choice(intents), "", []), said, 0)


VERBS = "calculate compute find get estimate determine show check look up plan book search for compare".split()
NOUNS = "area distance difference sum total value rate result similarity force energy speed route report price forecast match schedule list".split()
FRAMES = [
    "{V} the {N} of {B}", "{V} the {N} for {B}", "What is the {N} of {B}?", "Can you {V} the {N} given {B}?",
    "I need to {V} the {N} with {B}.", "{V} the {N} {B}", "{B}: {V} the {N}", "{V} a {N} for {B}, please",
    "How do I {V} the {N} for {B}?", "{V} {N} {B}",
]
UNSAID = [
    ("unit", "unit of the result"), ("precision", "number of decimals"), ("method", "method to use"),
    ("format", "output format"), ("language", "language of the answer"), ("limit", "maximum number of results"),
]


def filled(form: str, values: dict[str, str]) -> tuple[str, dict[str, tuple[int, int]]]:
    """A phrase with its values in place, and where they stand."""
    text, spans = "", {}
    for piece in re.split(r"(\{\w+\})", form):
        key = piece[1:-1] if piece.startswith("{") else None
        if key in values:
            spans[key] = (len(text), len(text) + len(values[key]))
            piece = values[key]
        text += piece
    return text, spans


def from_groups(count: int) -> Iterator[Example]:
    for _ in range(count):
        group = random.choice(GROUPS)
        values = {str(index): make() for index, make in enumerate(group.values)}
        phrase, spans = filled(random.choice(group.phrases).replace("{u}", random.choice(UNITS)), values)
        verb, noun = random.choice(VERBS), random.choice(NOUNS)
        before, after = random.choice(FRAMES).replace("{V}", verb).replace("{N}", noun).split("{B}")
        said = before + phrase + after
        if random.random() < 0.6 and said[0].isalpha():
            said = said[0].upper() + said[1:]
        tool = random.choice([f"{verb}_{noun}", f"{noun}.{verb}", f"{verb}{noun.capitalize()}"])
        for index, name in enumerate(group.names):
            description = group.descriptions[index] or random.choice(
                ["", f"The {words(name)}.", f"{words(name)} of the object", f"Value of {words(name)}"]
            )
            start, end = (place + len(before) for place in spans[str(index)])
            start += said[start] == "'"
            end -= said[end - 1] == "'"
            yield Example(value_text(name, description, tool), said, span=(start, end))
        name, description = random.choice(UNSAID)
        if name not in said:
            yield Example(value_text(name, description, tool), said, span=ABSENT)
        made = " and ".join(words(one) for one in group.names)
        described = random.choice(["", f"{verb.capitalize()} the {noun}", f"{verb.capitalize()}s the {noun} from {made}"])
        yield Example(tool_text(tool, described, group.names), said, 1)
        other, others = f"{random.choice(VERBS)}_{random.choice(NOUNS)}", random.choice(GROUPS).names
        if others != group.names and noun not in other:
            yield Example(tool_text(other, "", others), said, 0)


def from_natural(repeats: int) -> Iterator[Example]:
    """Questions of people with real functions, some with parts of the names and descriptions left out."""
    data = read("natural.json.gz")
    pool = [function for one in data for function in one["functions"]]

    def text(name: str, description: str, function: dict) -> str:
        return tool_text(name, description, [parameter["name"] for parameter in function["parameters"]])

    for repeat in range(repeats):
        for one in data:
            said = one["said"].lower() if repeat and random.random() < 0.2 else one["said"]
            for function in one["functions"]:
                chance = random.random()
                name = re.split(r"[_.]", function["name"])[-1] if 0.15 <= chance < 0.3 else function["name"]
                description = "" if chance < 0.15 else function["description"]
                yield Example(text(name, description, function), said, int(function["name"] in one["meant"]))
            other = random.choice(pool)
            if other["name"] not in [function["name"] for function in one["functions"]]:
                yield Example(text(other["name"], other["description"], other), said, 0)
            for function in one["functions"]:
                if function["name"] in one["accepted"]:
                    yield from natural_values(function, one["accepted"][function["name"]], said)


def natural_values(function: dict, accepted: dict, said: str) -> Iterator[Example]:
    for parameter in function["parameters"]:
        values = accepted.get(parameter["name"], [])
        if parameter["options"] or parameter["type"] == "boolean":
            options = parameter["options"] or [True, False]
            for option in options if values and len(options) <= 8 else []:
                right = any(str(option).lower() == str(value).lower() for value in values)
                yield Example(option_text(parameter["name"], parameter["description"], option), said, int(right))
            continue
        span = best_span(values, said) if values else ABSENT
        if span is not None:
            yield slot_example(parameter, function["name"], said, span)


def best_span(values: list, said: str) -> tuple[int, int] | None:
    """Where the longest of the accepted values stands, or the whole of a list."""
    text, best = said.lower(), None
    for value in values:
        items = value if isinstance(value, list) else [value]
        if not items or any(isinstance(item, (dict, list, bool)) or item is None for item in items):
            continue
        places = [(text.find(str(item).lower()), len(str(item))) for item in items]
        if any(start < 0 for start, _ in places):
            continue
        span = (min(start for start, _ in places), max(start + length for start, length in places))
        if span[1] - span[0] < 160 and (best is None or span[1] - span[0] > best[1] - best[0]):
            best = span
    return best


def from_everyday(count: int) -> Iterator[Example]:
    def text(tool) -> str:
        return tool_text(random.choice(tool.names), random.choice(tool.descriptions), list(tool.parameters))

    for _ in range(count):
        tool = random.choice(EVERYDAY)
        values = {name: make() for name, (_, make) in tool.parameters.items()}
        said, spans = filled(random.choice(tool.phrases), values)
        said += random.choice(["", "", "?", ".", " please"])
        if random.random() < 0.5:
            said = said[0].upper() + said[1:]
        name = random.choice(tool.names)
        yield Example(tool_text(name, random.choice(tool.descriptions), list(tool.parameters)), said, 1)
        for other in random.sample([one for one in EVERYDAY if not set(one.names) & set(tool.names)], 3):
            yield Example(text(other), said, 0)
        for parameter, span in spans.items():
            description = random.choice([tool.parameters[parameter][0], ""])
            yield Example(value_text(parameter, description, name), said, span=span)
        if random.random() < 0.3:
            yield Example(text(random.choice(EVERYDAY)), random.choice(SMALL_TALK), 0)
