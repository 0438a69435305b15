import { collapseAllNested, JsonView } from 'react-json-view-lite'

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

const SMALL = 400

interface JsonTreeProps {
  readonly value: unknown
  /** What it is, for screen readers. */
  readonly label: string
}

/** Any JSON value, to be opened and closed part by part. */
export function JsonTree({ value, label }: JsonTreeProps) {
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0) {
    return <code className="font-mono text-[0.8125rem] break-words whitespace-pre-wrap">{plain(value)}</code>
  }
  const small = JSON.stringify(value).length <= SMALL
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
