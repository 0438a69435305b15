/** A name as words: split at camelCase and punctuation, in lower case. */
export const wordsOfName = (name: string): string =>
  name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/[_\-.[\]$/\s]+/g, ' ')
    .trim()
    .toLowerCase()
