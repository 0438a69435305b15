const ESC = '\\u001b'

/** Control sequences of a terminal, also incomplete ones: colours, cursor movements, titles, links. */
const SEQUENCES = new RegExp(
  [
    `(?:${ESC}\\[|\\u009b)[0-?]*[ -/]*[@-~]?`,
    `(?:${ESC}[\\]PX^_]|[\\u0090\\u0098\\u009d-\\u009f])[^\\u0007${ESC}\\u009c\\n]*(?:\\u0007|${ESC}\\\\|\\u009c)?`,
    `${ESC}[ -/]*[0-~]?`,
  ].join('|'),
  'g',
)

/** Other control characters, lone surrogates, and marks that change the direction of text. */
const UNSAFE = /[^\P{Cc}\n\t]|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|\p{Cs}/gu

/** Removes everything that a terminal would act on, except line breaks and tabs. */
export function cleanText(text: string): string {
  return text.replace(SEQUENCES, '').replace(/\r\n?/g, '\n').replace(UNSAFE, '')
}
