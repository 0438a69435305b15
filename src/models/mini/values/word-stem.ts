/** A word without the ending that grammar gave it. */
export const wordStem = (word: string): string => (word.length > 4 ? word.replace(/(?:ing|ed|es|s|e)$/, '') : word)
