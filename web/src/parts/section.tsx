import { Fragment, type ReactNode, type RefObject, useEffect, useRef, useState } from 'react'

interface SectionProps {
  readonly title: string
  /** A one-sentence description. */
  readonly about?: ReactNode
  readonly children: ReactNode
}

/** A section with a heading. An address that ends with `#` and its id leads to it. */
export function Section({ title, about, children }: SectionProps) {
  const id = idOf(title)
  const section = useRef<HTMLElement>(null)
  useEffect(() => {
    if (location.hash !== `#${id}`) return
    // After the page has moved to its start.
    const frame = requestAnimationFrame(() => section.current?.scrollIntoView())
    return () => cancelAnimationFrame(frame)
  }, [id])
  return (
    <section id={id} ref={section} tabIndex={-1} aria-label={title} className="grid grid-cols-1 gap-3">
      <div>
        <h2 className="text-lg font-semibold">{title}</h2>
        {about !== undefined && <p className="mt-0.5 max-w-prose text-sm text-muted">{about}</p>}
      </div>
      {children}
    </section>
  )
}

/** Links to the sections of a long page. */
export function JumpLinks({ page }: { readonly page: RefObject<HTMLElement | null> }) {
  const [titles, setTitles] = useState<readonly string[]>([])
  useEffect(() => {
    const { current } = page
    if (current === null) return
    const look = () => {
      const found = [...current.querySelectorAll('section[id] > div > h2')].map(({ textContent }) => textContent)
      setTitles((before) => (before.join() === found.join() ? before : found))
    }
    look()
    const observer = new MutationObserver(look)
    observer.observe(current, { childList: true, subtree: true })
    return () => observer.disconnect()
  }, [page])
  if (titles.length < 3) return null
  return (
    <nav aria-label="On this page" className="-mt-6 flex flex-wrap gap-x-4 gap-y-1 text-sm">
      {titles.map((title) => (
        <a key={title} href={`#${idOf(title)}`} className="text-accent underline underline-offset-2">
          {title}
        </a>
      ))}
    </nav>
  )
}

const idOf = (title: string): string => title.toLowerCase().replace(/[^a-z0-9]+/g, '-')

/** Inline code. */
export const Code = ({ children }: { readonly children: ReactNode }) => (
  <code className="font-mono text-[0.9em] break-words">{children}</code>
)

/** A name that may wrap after underscores. */
export const BreakableName = ({ name }: { readonly name: string }) => (
  <span className="wrap-anywhere">
    {name.split(/(?<=_)/).map((part, index) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: parts may repeat, and never move.
      <Fragment key={index}>
        {index > 0 && <wbr />}
        {part}
      </Fragment>
    ))}
  </span>
)
