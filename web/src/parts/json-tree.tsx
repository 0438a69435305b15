import { useMemo } from 'react'
import { collapseAllNested, JsonView } from 'react-json-view-lite'
import { CopyButton } from './copy-button.tsx'
import { inBytes } from './figures.ts'
import { shortened } from './shortened.ts'

const STYLE = {
  container: 'font-mono text-[0.8125rem] leading-6 break-words',
  basicChildStyle: 'pl-4',
  childFieldsContainer: 'm-0 p-0 list-none',
  label: 'mr-1.5 text-accent',
  clickableLabel: 'mr-1.5 text-accent cursor-pointer',
  nullValue: 'text-muted italic',
  undefinedValue: 'text-muted italic',
  stringValue: 'text-good whitespace-pre-wrap break-words',
  booleanValue: 'text-warn',
  numberValue: 'text-warn tabular-nums',
  otherValue: 'text-ink',
  punctuation: 'mr-1 text-muted',
  collapseIcon: 'json-open mr-1',
  expandIcon: 'json-closed mr-1',
  collapsedContent: 'json-more mr-1',
  quotesForFieldNames: false,
} as const

/** Up to here everything is open; from there on only a part is drawn. In characters. */
const SMALL = 400
const LARGE = 20_000

interface JsonTreeProps {
  readonly value: unknown
  /** What it is, for screen readers. */
  readonly label: string
}

/** Any JSON value, to be opened and closed part by part. Of a large one a part is shown, and the whole can be copied. */
export function JsonTree({ value, label }: JsonTreeProps) {
  const text = useMemo(() => plain(value), [value])
  const shown = useMemo(() => (text.length > LARGE ? shortened(value) : value), [text, value])
  return (
    <>
      <Tree value={shown} label={label} small={text.length <= SMALL} />
      {text.length > LARGE && (
        <div className="mt-2 flex flex-wrap items-center gap-3 text-sm text-muted">
          <span>Of {inBytes(text.length)}, what is long is shown in part.</span>
          <CopyButton text={text} label="Copy all of it" />
        </div>
      )}
    </>
  )
}

function Tree({ value, label, small }: JsonTreeProps & { readonly small: boolean }) {
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0) {
    return <code className="font-mono text-[0.8125rem] break-words whitespace-pre-wrap">{plain(value)}</code>
  }
  return (
    <JsonView
      data={value}
      style={STYLE}
      shouldExpandNode={small ? always : collapseAllNested}
      aria-label={label}
      clickToExpandNode
    />
  )
}

const always = () => true
const plain = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing'))
