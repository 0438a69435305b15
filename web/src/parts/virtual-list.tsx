import { useVirtualizer, useWindowVirtualizer, type VirtualItem } from '@tanstack/react-virtual'
import { type ReactNode, type Ref, useLayoutEffect, useRef, useState } from 'react'

const OVERSCAN = 8

interface ListProps<Item> {
  readonly items: readonly Item[]
  readonly keyOf: (item: Item) => string
  /** The estimated row height; rows are measured when rendered. */
  readonly rowPx: number
  readonly row: (item: Item) => ReactNode
  readonly label: string
  /** Classes of the list, and of each of its rows. */
  readonly className?: string
  readonly rowClassName?: string
}

/** A list that renders only its visible rows. */
export function WindowList<Item>(props: ListProps<Item>) {
  const { items, keyOf, rowPx } = props
  const list = useRef<HTMLUListElement>(null)
  const [top, setTop] = useState(0)
  useLayoutEffect(() => {
    const measure = () => setTop(list.current?.offsetTop ?? 0)
    measure()
    // Content above may wrap when the window gets narrower.
    window.addEventListener('resize', measure)
    return () => window.removeEventListener('resize', measure)
  }, [])
  const rows = useWindowVirtualizer({
    count: items.length,
    estimateSize: () => rowPx,
    overscan: OVERSCAN,
    scrollMargin: top,
    getItemKey: (index) => keyAt(items, keyOf, index),
  })
  const { measureElement } = rows
  return (
    <Rows
      {...props}
      ref={list}
      top={top}
      height={rows.getTotalSize()}
      drawn={rows.getVirtualItems()}
      measure={measureElement}
    />
  )
}

/** The same in a scrolling box with the height of `boxClassName`. */
export function BoxList<Item>({ boxClassName, ...props }: ListProps<Item> & { readonly boxClassName: string }) {
  const { items, keyOf, rowPx, label } = props
  const box = useRef<HTMLDivElement>(null)
  const rows = useVirtualizer({
    count: items.length,
    getScrollElement: () => box.current,
    estimateSize: () => rowPx,
    overscan: OVERSCAN,
    getItemKey: (index) => keyAt(items, keyOf, index),
  })
  return (
    <section ref={box} className={`overflow-y-auto ${boxClassName}`} tabIndex={0} aria-label={label}>
      <Rows
        {...props}
        top={0}
        height={rows.getTotalSize()}
        drawn={rows.getVirtualItems()}
        measure={rows.measureElement}
      />
    </section>
  )
}

const keyAt = <Item,>(items: readonly Item[], keyOf: (item: Item) => string, index: number): string => {
  const item = items[index]
  return item === undefined ? String(index) : keyOf(item)
}

interface RowsProps<Item> extends ListProps<Item> {
  readonly ref?: Ref<HTMLUListElement>
  /** The offset of the list in its scroll container. */
  readonly top: number
  readonly height: number
  readonly drawn: readonly VirtualItem[]
  readonly measure: (row: HTMLLIElement | null) => void
}

function Rows<Item>(props: RowsProps<Item>) {
  const { ref, items, row, label, className = '', rowClassName = '', top, height, drawn, measure } = props
  return (
    <ul ref={ref} aria-label={label} className={`relative box-content ${className}`} style={{ height }}>
      {drawn.map(({ index, key, start }) => (
        <li
          key={key}
          ref={measure}
          data-index={index}
          aria-setsize={items.length}
          aria-posinset={index + 1}
          className={`absolute inset-x-0 top-0 ${rowClassName}`}
          style={{ transform: `translateY(${start - top}px)` }}
        >
          {row(items[index] as Item)}
        </li>
      ))}
    </ul>
  )
}
