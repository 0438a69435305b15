import { Fragment, type ReactNode } from 'react'

interface SectionProps {
  readonly title: string
  /** A one-sentence description. */
  readonly about?: ReactNode
  readonly children: ReactNode
}

/** A section with a heading. */
export const Section = ({ title, about, children }: SectionProps) => (
  <section aria-label={title} className="grid grid-cols-1 gap-3">
    <div>
      <h2 className="text-lg font-semibold">{title}</h2>
      {about !== undefined && <p className="mt-0.5 max-w-prose text-sm text-muted">{about}</p>}
    </div>
    {children}
  </section>
)

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
