import type { Block } from './document.ts'
import { shortened } from './heading-path.ts'
import { firstInk, firstLine, isSpace, lastInk, lineEnd } from './ink.ts'

const NO_PATH: readonly string[] = []
/** A line that begins like this ends what is above it, or is a remark. */
const CLOSING = /^(?:[\])}]|end\b|fi\b|done\b|esac\b|<\/)/
const REMARK = /^(?:\/\/|\/\*|\*|#|--|;|@|"""|'''|<!--|\[|(?:import|from|using|use|package|require|include)\b)/

/**
 * The parts of a source file that stand at its left edge after an empty line: functions, classes, groups of
 * statements, with the remarks above them. One with something indented in it gives its first line as heading.
 */
export function codeBlocks(text: string): Block[] {
  const blocks: Block[] = []
  let start = -1
  let end = 0
  let heading = ''
  let indented = false
  let blank = true
  const close = () => {
    if (start === -1) return
    const path = indented && heading !== '' ? [shortened(heading)] : NO_PATH
    blocks.push({ kind: 'code', start: firstLine(text, start, end), end: lastInk(text, start, end), path, nth: 0 })
  }
  for (let line = 0; line < text.length; ) {
    const to = lineEnd(text, line, text.length)
    const ink = firstInk(text, line, to)
    if (ink < to) {
      const word = ink === line ? text.slice(line, Math.min(to, line + 300)) : ''
      if (start === -1 || (blank && ink === line && !CLOSING.test(word))) {
        close()
        start = line
        heading = ''
        indented = false
      }
      if (ink > line) indented ||= heading !== ''
      else if (heading === '' && !REMARK.test(word)) heading = signature(word)
      end = to
    }
    blank = ink === to
    line = to + 1
  }
  close()
  return blocks
}

/** A line without what only opens the next one. */
function signature(line: string): string {
  let to = line.length
  while (to > 0 && (isSpace(line.charCodeAt(to - 1)) || '{(:='.includes(line.charAt(to - 1)))) to--
  return line.slice(0, to)
}
