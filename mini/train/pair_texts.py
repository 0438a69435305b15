"""The three forms of the first text of a pair. Toolyard writes them the same way (src/models/mini/pair-texts.ts)."""

import re


def words(name: str) -> str:
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return re.sub(r"\s+", " ", re.sub(r"[_\-.]+", " ", spaced)).strip().lower()


def tool_text(name: str, description: str, parameters: list[str]) -> str:
    needs = ", ".join(words(parameter) for parameter in parameters[:8])
    return f"tool: {words(name)}. {description[:160]} needs: {needs}"


def value_text(name: str, description: str, tool: str) -> str:
    return f"value: {words(name)}: {description[:110]} of {words(tool)}"


def option_text(name: str, description: str, option: object) -> str:
    return f"option: {words(name)}: {description[:90]} = {str(option).lower()}"
