import { readdir, readFile, stat } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { type Handler, ToolExecutionError } from 'toolyard'

const MOST_FILES = 500
const MOST_BYTES = 256 * 1024
const MOST_RESULTS = 3
const LONGEST_TEXT = 600
const COMMON = new Set(
  'a an and are at be can do does for from how i in is it me my of on or our the to we what when where which who with'.split(
    ' ',
  ),
)

interface Passage {
  readonly text: string
  readonly source: string
  readonly words: ReadonlySet<string>
}

/**
 * The handler of `search` over the `.md` and `.txt` files of one folder. Nothing that is asked becomes a path, and links
 * are not followed, so nothing outside the folder is ever read.
 */
export function searchFiles(folder: string): Handler {
  return async ({ query }, { signal }) => {
    const wanted = [...wordsOf(String(query))]
    const found: { readonly score: number; readonly passage: Passage }[] = []
    for (const file of await filesOf(folder)) {
      signal.throwIfAborted()
      for (const passage of await passagesOf(folder, file)) {
        const score = wanted.filter((word) => passage.words.has(word)).length / (wanted.length || 1)
        if (score >= 0.5) found.push({ score, passage })
      }
    }
    const best = found.sort((a, b) => b.score - a.score).slice(0, MOST_RESULTS)
    return {
      results: best.map(({ score, passage: { text, source } }) => ({
        text,
        source,
        score: Math.round(score * 100) / 100,
      })),
    }
  }
}

async function filesOf(folder: string): Promise<string[]> {
  try {
    const files = await filesIn(folder)
    return files
      .filter((file) => /\.(?:md|txt)$/i.test(file))
      .sort()
      .slice(0, MOST_FILES)
  } catch {
    throw new ToolExecutionError('EXECUTION_ERROR', 'The documents cannot be read: check TOOLYARD_VOICE_DOCUMENTS')
  }
}

/** With `recursive`, Node.js 26 follows links, which may lead out of the folder. */
async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  const files = entries.map((entry) => {
    const path = join(folder, entry.name)
    return entry.isDirectory() ? filesIn(path) : entry.isFile() ? [path] : []
  })
  return (await Promise.all(files)).flat()
}

async function passagesOf(folder: string, file: string): Promise<Passage[]> {
  const source = relative(folder, file).split(sep).join('/')
  // A file that has gone, or may not be read, is no reason to find nothing.
  const size = await stat(file).then(
    (one) => one.size,
    () => 0,
  )
  if (size === 0 || size > MOST_BYTES) return []
  const whole = await readFile(file, 'utf8').catch(() => '')
  let heading = ''
  return whole.split(/\n\s*\n/).flatMap((part) => {
    const text = part.trim().replaceAll(/\s+/g, ' ')
    if (/^#+ /.test(text)) {
      heading = text
      return []
    }
    return text === '' ? [] : [{ text: text.slice(0, LONGEST_TEXT), source, words: wordsOf(`${heading} ${text}`) }]
  })
}

/** Without endings, so that "bins" finds "bin". */
function wordsOf(text: string): Set<string> {
  const words = text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? []
  return new Set(words.filter((word) => !COMMON.has(word)).map((word) => word.replace(/(?<=\w{3})(?:ed|ing|s)$/, '')))
}
