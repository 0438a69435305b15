import { useEffect, useId, useState } from 'react'

interface ParamsTextProps {
  readonly params: Record<string, unknown>
  readonly onParams: (params: Record<string, unknown>) => void
  /** Reports whether the text is valid. */
  readonly onReadable: (readable: boolean) => void
  readonly labelledBy: string
}

/** They change the order in which text is shown, so that a person might approve something else. */
const DIRECTION_MARKS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** JSON in which no character hides or moves another. */
export const written = (params: unknown): string =>
  JSON.stringify(params, null, 2).replace(
    DIRECTION_MARKS,
    (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

/** The parameters as JSON text, in sync with the form. */
export function ParamsText({ params, onParams, onReadable, labelledBy }: ParamsTextProps) {
  const [text, setText] = useState(() => written(params))
  const [problem, setProblem] = useState<string>()
  const help = useId()
  // Form changes replace the text, unless only the formatting differs.
  useEffect(() => {
    setText((before) => (sameValue(before, params) ? before : written(params)))
    setProblem(undefined)
    onReadable(true)
  }, [params, onReadable])
  const type = (typed: string) => {
    setText(typed)
    const { value, fault } = read(typed)
    setProblem(fault)
    onReadable(fault === undefined)
    if (value !== undefined) onParams(value)
  }
  return (
    <>
      <textarea
        aria-labelledby={labelledBy}
        aria-invalid={problem !== undefined}
        aria-describedby={help}
        spellCheck={false}
        rows={4}
        className="field field-sizing-content max-h-96 min-h-40 flex-1 resize-y font-mono text-[0.8125rem]"
        value={text}
        onChange={(event) => type(event.target.value)}
      />
      <p id={help} className={`mt-2 min-h-5 text-sm ${problem === undefined ? 'text-muted' : 'text-bad'}`}>
        {problem ?? 'Sent as shown.'}
      </p>
    </>
  )
}

function read(text: string): { value?: Record<string, unknown>; fault?: string } {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return { value: value as Record<string, unknown> }
    }
    return { fault: 'Enter one JSON object: { … }' }
  } catch (error) {
    return { fault: (error as Error).message }
  }
}

function sameValue(text: string, params: unknown): boolean {
  try {
    return JSON.stringify(JSON.parse(text)) === JSON.stringify(params)
  } catch {
    return false
  }
}
