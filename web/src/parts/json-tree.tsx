import { type KeyboardEvent, useMemo } from 'react'
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
  punctuation: 'text-muted',
  collapseIcon: 'json-open mr-1',
  expandIcon: 'json-closed mr-1',
  collapsedContent: 'json-more mx-0.5',
  quotesForFieldNames: false,
} as const

/** Limits in characters: fully expanded up to SMALL, shortened from LARGE. */
const SMALL = 400
const LARGE = 20_000

interface JsonTreeProps {
  readonly value: unknown
  /** Label for screen readers. */
  readonly label: string
}

/** A JSON value as a tree. Large values are shortened, but can be copied in full. */
export function JsonTree({ value, label }: JsonTreeProps) {
  const text = useMemo(() => plain(value), [value])
  const shown = useMemo(() => (text.length > LARGE ? shortened(value) : value), [text, value])
  return (
    <>
      <Tree value={shown} label={label} small={text.length <= SMALL} />
      {text.length > LARGE && (
        <div className="mt-2 flex flex-wrap items-center gap-3 text-sm text-muted">
          <span>{inBytes(text.length)}, shown in part.</span>
          <CopyButton text={text} label="Copy all" />
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
    // biome-ignore lint/a11y/noStaticElementInteractions: takes the keys of the buttons inside.
    <div onKeyDown={pressButton}>
      <JsonView
        data={value}
        style={STYLE}
        shouldExpandNode={small ? always : collapseAllNested}
        aria-label={label}
        clickToExpandNode
      />
    </div>
  )
}

const BUTTONS = '[role="button"]'

/** The buttons of the library take only the arrow keys. */
function pressButton(event: KeyboardEvent<HTMLElement>): void {
  const { key, target } = event
  if ((key !== 'Enter' && key !== ' ') || !(target instanceof HTMLElement) || !target.matches(BUTTONS)) return
  event.preventDefault()
  target.click()
}

const always = () => true
const plain = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing'))
