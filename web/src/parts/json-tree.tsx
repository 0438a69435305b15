import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from 'react'
import { CopyButton } from './copy-button.tsx'
import { count, inBytes } from './figures.ts'
import { jsonText, shownPart } from './shortened.ts'

/** Values of at most this many characters are fully expanded. */
const SMALL = 400

interface JsonTreeProps {
  readonly value: unknown
  /** Label for screen readers. */
  readonly label: string
}

/** A JSON value as a tree. Large values are shortened, but can be copied in full. */
export function JsonTree({ value, label }: JsonTreeProps) {
  const { shown, isPart, text } = useMemo(() => shownPart(value), [value])
  return (
    <>
      <Tree value={shown} label={label} small={text.length <= SMALL} />
      {isPart && (
        <div className="mt-2 flex flex-wrap items-center gap-3 text-sm text-muted">
          <span>{inBytes(text.length)}, shown in part.</span>
          <CopyButton text={text} label="Copy all" />
        </div>
      )}
    </>
  )
}

/** A tree with one tab stop: the arrow keys move in it, Enter and Space fold. */
function Tree({ value, label, small }: JsonTreeProps & { readonly small: boolean }) {
  /** The nodes that somebody has opened or closed. */
  const [chosen, setChosen] = useState<ReadonlyMap<string, boolean>>(new Map())
  const [current, setCurrent] = useState('')
  const tree = useRef<HTMLDivElement>(null)
  useEffect(() => {
    // The current node may have gone with the former value.
    if (tree.current?.querySelector('[tabindex="0"]') === null) setCurrent('')
  })
  if (!isParent(value)) {
    return <code className="font-mono text-[0.8125rem] break-words whitespace-pre-wrap">{jsonText(value)}</code>
  }
  const isOpen = (path: string) => chosen.get(path) ?? (small || path === '')
  const toggle = (path: string) => setChosen(new Map([...chosen, [path, !isOpen(path)]]))
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const { key, target, currentTarget } = event
    if (!(target instanceof HTMLElement) || event.altKey || event.ctrlKey || event.metaKey) return
    const { ariaExpanded: open } = target
    const next = itemFor(key, target, [...currentTarget.querySelectorAll<HTMLElement>('[role="treeitem"]')])
    if (next !== undefined) next.focus()
    else if (
      open !== null &&
      (key === 'Enter' || key === ' ' || key === (open === 'true' ? 'ArrowLeft' : 'ArrowRight'))
    ) {
      toggle(current)
    } else if (!key.startsWith('Arrow')) return
    event.preventDefault()
  }
  return (
    <div
      ref={tree}
      role="tree"
      aria-label={label}
      className="font-mono text-[0.8125rem] leading-6 break-words"
      onKeyDown={onKeyDown}
    >
      <Node value={value} path="" level={1} last {...{ isOpen, toggle, current, setCurrent }} />
    </div>
  )
}

/** The item that a key leads to. */
function itemFor(key: string, item: HTMLElement, items: readonly HTMLElement[]): HTMLElement | undefined {
  const isOpen = item.ariaExpanded === 'true'
  const at = items.indexOf(item)
  if (key === 'Home') return items[0]
  if (key === 'End') return items.at(-1)
  if (key === 'ArrowUp') return items[at - 1]
  if (key === 'ArrowDown' || (key === 'ArrowRight' && isOpen)) return items[at + 1]
  if (key !== 'ArrowLeft' || isOpen) return undefined
  return items.slice(0, at).findLast(({ ariaLevel }) => Number(ariaLevel) < Number(item.ariaLevel))
}

interface NodeProps {
  readonly value: unknown
  /** The key in an object. */
  readonly name?: string
  /** The position in an array, which screen readers say. */
  readonly position?: number
  readonly path: string
  readonly level: number
  readonly last: boolean
  readonly isOpen: (path: string) => boolean
  readonly toggle: (path: string) => void
  readonly current: string
  readonly setCurrent: (path: string) => void
}

/** The row of a value, and those of its entries after it. */
function Node({ value, name, position, path, level, last, ...tree }: NodeProps) {
  const { isOpen, toggle, current, setCurrent } = tree
  const parent = isParent(value) ? value : undefined
  const open = parent && isOpen(path)
  const [start, end] = Array.isArray(value) ? '[]' : '{}'
  const indent = { paddingLeft: `${level - 1}rem` }
  const ending = `${end}${last ? '' : ','}`
  return (
    <>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the tree takes the keys. */}
      <div
        role="treeitem"
        aria-level={level}
        aria-expanded={open}
        tabIndex={path === current ? 0 : -1}
        className={`rounded-sm ${parent ? 'cursor-pointer' : ''}`}
        style={indent}
        onFocus={() => setCurrent(path)}
        onClick={() => parent && toggle(path)}
      >
        {parent && <span aria-hidden="true" className={`mr-1 ${open ? 'json-open' : 'json-closed'}`} />}
        {position !== undefined && <span className="sr-only">{`${position}: `}</span>}
        {name !== undefined && (
          <>
            <span className="text-accent">{name === '' ? '""' : name}:</span>{' '}
          </>
        )}
        {parent ? (
          <span className="text-muted">
            <span className="sr-only">
              {count(Object.keys(parent).length, Array.isArray(parent) ? 'item' : 'field')}
            </span>
            <span aria-hidden="true">
              {start}
              {!open && <span className="json-more mx-0.5" />}
              {!open && ending}
            </span>
          </span>
        ) : (
          <>
            <Leaf value={value} />
            {!last && (
              <span aria-hidden="true" className="text-muted">
                ,
              </span>
            )}
          </>
        )}
      </div>
      {open &&
        Object.entries(parent).map(([key, inner], at, { length }) => (
          <Node
            key={key}
            value={inner}
            {...(Array.isArray(value) ? { position: at + 1 } : { name: key })}
            path={`${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`}
            level={level + 1}
            last={at === length - 1}
            {...tree}
          />
        ))}
      {open && (
        <div aria-hidden="true" className="text-muted" style={indent}>
          {ending}
        </div>
      )}
    </>
  )
}

function Leaf({ value }: { readonly value: unknown }) {
  if (typeof value === 'string') return <span className="text-good whitespace-pre-wrap break-words">"{value}"</span>
  if (typeof value === 'object') return <span className="text-muted italic">{jsonText(value)}</span>
  return <span className="text-warn tabular-nums">{jsonText(value)}</span>
}

const isParent = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && Object.keys(value).length > 0
