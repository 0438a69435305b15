/**
 * The lines on which the items of a JSON text begin, counted from 1: those of the list that it is, or of the list in
 * the object that it is. The text must be JSON.
 */
export function itemLines(text: string): number[] {
  const lines: number[] = []
  const wanted = text.trimStart().startsWith('[') ? 1 : 2
  const open: string[] = []
  let line = 1
  let due = false
  for (let at = 0; at < text.length; at++) {
    const character = text[at] as string
    if (character === '\n') line++
    if (/\s/.test(character)) continue
    if (due && character !== ']') lines.push(line)
    due = false
    if (character === '"') at = endOfText(text, at)
    else if (character === '[' || character === '{') open.push(character)
    else if (character === ']' || character === '}') open.pop()
    due = open.length === wanted && open.at(-1) === '[' && (character === '[' || character === ',')
  }
  return lines
}

/** Where the quotes that open at `start` close; a text of JSON holds no line ends. */
function endOfText(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at
}
