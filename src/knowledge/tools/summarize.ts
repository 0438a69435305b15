import type { Handler } from '../../core/handler.ts'
import { badParameter, quoted, readText, requireText } from '../../kinds/builtin/read-parameter.ts'
import { askFor } from './ask-for.ts'
import { ModelAsker } from './model-asker.ts'
import { answerSchema, builtinDefinition, LONGEST_TEXT, type ModelTool, type ModelToolParts } from './model-tool.ts'
import { propertyOf } from './property-of.ts'

type Format = 'paragraph' | 'bullet_points'

const FORMATS: Readonly<Record<Format, string>> = {
  paragraph: 'as one paragraph of plain text, without headings and lists',
  bullet_points: 'as a list of its main points: one line each, every line beginning with "- "',
}

const SCHEMA = answerSchema({ summary: { type: 'string' } })

/** `summarize`: what a text says, in short. */
export function summarizeTool({ model }: ModelToolParts): ModelTool {
  const asker = new ModelAsker('summarize', model)
  const handler: Handler = async (params, { signal }) => {
    const text = requireText(params, 'text', LONGEST_TEXT)
    const format = readFormat(readText(params, 'format', 100) ?? 'paragraph')
    const summary = text.trim() === '' ? '' : await summaryOf(asker, text, format, signal)
    return { summary, format, metadata: { input_length: text.length, summary_length: summary.length } }
  }
  return { definition, handler }
}

async function summaryOf(asker: ModelAsker, document: string, format: Format, signal: AbortSignal): Promise<string> {
  const { answer, reply } = await askFor<{ summary: string }>(
    asker,
    {
      document,
      instructions:
        `You summarize documents. Say what the document says, in its own language, ${FORMATS[format]}. Keep names, ` +
        'numbers and decisions; add nothing that is not in it, and no opinion.',
      asked: SCHEMA,
      taken: SCHEMA,
      straighten: (value) => ({ summary: joined(propertyOf(value, 'summary'), format) }),
      prose: (summary) => ({ summary }),
    },
    signal,
  )
  return (answer?.summary ?? reply).trim()
}

/** A list of points is a summary too. */
function joined(summary: unknown, format: Format): unknown {
  if (!Array.isArray(summary) || !summary.every((line) => typeof line === 'string')) return summary
  if (format === 'paragraph') return summary.join(' ')
  return summary.map((line) => (/^\s*[-*•]/.test(line) ? line : `- ${line}`)).join('\n')
}

function readFormat(format: string): Format {
  if (Object.hasOwn(FORMATS, format)) return format as Format
  throw badParameter(`format must be one of: ${Object.keys(FORMATS).join(', ')}, not ${quoted(format)}`)
}

const definition = builtinDefinition(
  'summarize',
  'Summarizes a text: what it says, in short, in its own language, as a paragraph or as bullet points.',
  {
    text: { type: 'string', maxLength: LONGEST_TEXT, description: 'The text to summarize.' },
    format: {
      type: 'string',
      enum: Object.keys(FORMATS),
      default: 'paragraph',
      description: 'How the summary is written.',
    },
  },
  ['text'],
)
