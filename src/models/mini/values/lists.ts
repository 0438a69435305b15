/** The parts of an enumeration: "a, b and c", "[1, 2, 3]", "a; b". */
export function partsOf(text: string): string[] {
  const inner = text
    .trim()
    .replace(/^[[({]\s*/, '')
    .replace(/(?:(?<!\s)\s+)?[\])}]$/, '')
  return inner
    .split(/(?:(?<!\s)\s+)?(?:;|,(?!\d{3}(?:\D|$))\s*(?:and|or)?\b|,|\s(?:and|or|&)\s)\s*/)
    .map((part) => plainText(part ?? ''))
    .filter((part) => part !== '')
}

/** Quotes, brackets and a leading article off. */
export function plainText(text: string): string {
  return text
    .trim()
    .replace(/^["'“‘`[(]+/, '')
    .replace(/(?<!["'”’`\])])["'”’`\])]+$/, '')
    .trim()
    .replace(/^(?:the|an?)\s+/i, '')
}
