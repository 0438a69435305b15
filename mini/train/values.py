"""Values that people say: places, names, dates, amounts, lists."""

import gzip
import json
import os
import random
import re
import string
from functools import lru_cache
from typing import Callable

CITIES = (
    "Paris London Berlin Tokyo Oslo Madrid Rome Cairo Lima Boston Austin Denver Seattle Toronto Sydney Mumbai Delhi "
    "Beijing Seoul Vienna Prague Lisbon Athens Dublin Helsinki Warsaw"
).split()
LONGER_CITIES = [
    "New York", "Los Angeles", "San Francisco", "Washington D.C.", "Buenos Aires", "Hong Kong", "Boston, MA",
    "Austin, Texas", "Rio de Janeiro",
]
FIRST_NAMES = (
    "Anna Ben Carla David Emma Frank Grace Henry Iris Jack Karen Leo Maria Nina Oscar Paula Quinn Rosa Sam Tina Uma "
    "Victor Wendy Xavier Yara Zoe"
).split()
SURNAMES = "Smith Jones Garcia Miller Khan Chen Silva Rossi Novak Meyer Dubois Tanaka".split()
MONTHS = "January February March April May June July August September October November December".split()
ANIMALS = "human chimp dog cat elephant tiger whale eagle salmon frog oak wheat horse cow sheep".split()
CURRENCIES = "USD EUR GBP JPY dollars euros pounds yen INR CAD".split()
DISHES = "vegan Thai Italian Chinese sushi pizza burgers Mexican Indian seafood pasta tacos".split()
COMPANIES = ["Microsoft", "Google", "Apple", "Amazon", "Tesla", "Intel", "IBM", "Sony", "Nokia", "Siemens"]
FEATURES = [
    "camping", "scenic views", "free Wi-Fi", "parking", "a pool", "breakfast", "pet friendly", "tennis court", "gym",
    "garden",
]
DEVICES = [
    "kitchen lamp", "hall light", "bedroom light", "switch one", "porch light", "desk fan", "garage door", "heater",
    "living room lamp", "coffee machine",
]
LANGUAGES = "French German Spanish Italian Japanese Chinese Dutch Portuguese Greek".split()
SONGS = ["Imagine", "Yesterday", "Thriller", "Hey Jude", "Bad Guy", "Bohemian Rhapsody"]
SUBJECTS = [
    "Python decorators", "error handling", "rate limits", "authentication", "installation", "webhooks", "vector search",
    "the refund policy", "SQL joins", "deployment", "the API key", "async functions",
]
UNITS = [
    "", " cm", " m", " meters", " kg", " km", " seconds", " inches", " feet", " miles", " units", " m/s", " C", " g",
    " hours", " dollars", "%",
]


@lru_cache(1)
def vocabulary() -> list[str]:
    """Words from the descriptions of real tools."""
    with gzip.open(os.path.join(os.environ["DATA"], "tools.json.gz"), "rt") as file:
        return [found for tool in json.load(file) for found in re.findall(r"[A-Za-z]{4,12}", tool["description"])]


def some_words(least: int, most: int) -> list[str]:
    return random.sample(vocabulary(), random.randint(least, most))


def integer(low: int = 1, high: int = 500) -> Callable[[], str]:
    return lambda: str(random.choice([
        random.randint(low, max(low, 20)), random.randint(low, high), random.randint(low, high * 20),
    ]))


def fraction() -> str:
    return random.choice([
        f"{random.uniform(0, 10):.1f}", f"{random.uniform(0, 100):.2f}", str(random.randint(1, 300)),
        f"{random.uniform(0, 1):.3f}", f"{random.randint(1, 9)}e-{random.randint(2, 9)}",
    ])


def date() -> str:
    year, month, day = random.randint(2019, 2027), random.randint(1, 12), random.randint(1, 28)
    return random.choice([
        f"{MONTHS[month - 1]} {day}, {year}", f"{year}-{month:02d}-{day:02d}", f"{month}/{day}/{year}",
        str(random.randint(1950, 2027)),
    ])


def city() -> str:
    return random.choice(CITIES + LONGER_CITIES)


def person() -> str:
    return random.choice(FIRST_NAMES) + random.choice(["", " " + random.choice(SURNAMES)])


def word() -> str:
    return random.choice(vocabulary()).lower()


def title() -> str:
    return " ".join(one.capitalize() for one in some_words(1, 4))


def hour() -> str:
    return f"{random.randint(1, 12)} " + random.choice(["am", "pm", "o'clock"])


def number_list() -> str:
    form = random.choice(["[{}]", "{}", "({})", "{}"])
    comma = random.choice([", ", ","])
    count = random.randint(2, 7)
    return form.format(comma.join(
        str(random.choice([random.randint(0, 99), round(random.uniform(0, 50), 1)])) for _ in range(count)
    ))


def spoken_numbers() -> str:
    return enumerated([str(random.randint(0, 99)) for _ in range(random.randint(2, 5))], [" and ", ", and "])


def some_of(pool: list[str]) -> Callable[[], str]:
    return lambda: enumerated(random.sample(pool, random.randint(2, 4)), [" and ", ", and ", ", "])


def enumerated(items: list[str], joints: list[str]) -> str:
    return ", ".join(items[:-1]) + random.choice(joints) + items[-1]


def formula() -> str:
    a, power = random.randint(1, 9), random.randint(2, 4)
    return random.choice([
        f"{a}x^{power}", f"x^{power}", f"{a}x^{power} + {random.randint(1, 9)}x", f"{a}*{random.randint(2, 99)}",
        "sin(x)", f"sqrt({random.randint(2, 99)})", f"{random.randint(1, 99)} + {random.randint(1, 99)}",
        f"({random.randint(1, 9)}+{random.randint(1, 9)})*{random.randint(2, 9)}",
    ])


def large_amount() -> str:
    return random.choice([
        f"{random.randint(1, 900)} million", f"{random.uniform(1, 20):.1f} million", f"{random.randint(1, 900)}M",
        f"{random.randint(1, 90)}k", f"{random.uniform(1, 9):.1f} billion", str(random.randint(1000, 999999)),
        f"{random.randint(1, 999)},{random.randint(100, 999)}",
    ])


def value_of_type(kind: str | None) -> str:
    """Some value for a parameter of which only the type is known."""
    if kind == "integer":
        return str(random.choice([
            random.randint(0, 20), random.randint(0, 200), random.randint(0, 100000), random.randint(1990, 2030),
        ]))
    if kind == "number":
        return random.choice([
            f"{random.uniform(0, 100):.1f}", f"{random.uniform(0, 1):.2f}", f"{random.uniform(-90, 180):.4f}",
            str(random.randint(0, 500)),
        ])
    return random.choice([
        lambda: random.choice(CITIES),
        lambda: f"{random.choice(FIRST_NAMES)} {random.choice(SURNAMES)}",
        lambda: " ".join(some_words(1, 3)),
        lambda: f"'{' '.join(some_words(1, 4))}'",
        lambda: f"{random.choice(MONTHS)} {random.randint(1, 28)}, {random.randint(2019, 2027)}",
        lambda: f"{random.randint(2019, 2027)}-{random.randint(1, 12):02d}-{random.randint(1, 28):02d}",
        lambda: f"{word()}@{word()}.com",
        lambda: "".join(random.choices("abcdef" + string.digits, k=random.randint(4, 10))),
        lambda: f"{word().upper()}-{random.randint(1, 9999)}",
        lambda: ", ".join(random.sample(CITIES, random.randint(2, 4))),
        lambda: ", ".join(str(random.randint(1, 99)) for _ in range(random.randint(2, 6))),
        lambda: "/".join(some_words(2, 2)).lower(),
    ])()
