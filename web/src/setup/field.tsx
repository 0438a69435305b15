import { type FocusEvent, type ReactNode, useId, useState } from 'react'

/** Props for the control of a field. */
interface ControlProps {
  readonly id: string
  readonly 'aria-describedby': string | undefined
  readonly 'aria-invalid': boolean
  readonly onBlur: (event: FocusEvent<HTMLInputElement | HTMLTextAreaElement>) => void
}

interface FieldProps {
  readonly label: string
  readonly hint?: ReactNode | undefined
  /** Shown after the field was left, unless it was empty all the time. */
  readonly problem?: string | undefined
  readonly className?: string
  readonly children: (props: ControlProps) => ReactNode
}

/** A labelled control with a hint, and with what is wrong with its value. */
export function Field({ label, hint, problem, className = '', children }: FieldProps) {
  const id = useId()
  const [typed, setTyped] = useState(false)
  const [left, setLeft] = useState(false)
  const wrong = left ? problem : undefined
  const about = wrong ?? hint
  return (
    <div className={`grid min-w-0 content-start gap-1 ${className}`} onInput={() => setTyped(true)}>
      <label htmlFor={id} className="text-sm font-medium">
        {label}
      </label>
      {children({
        id,
        'aria-describedby': about === undefined ? undefined : `${id}-about`,
        'aria-invalid': wrong !== undefined,
        onBlur: ({ target }) => (typed || target.value !== '') && setLeft(true),
      })}
      {about !== undefined && (
        <p id={`${id}-about`} className={`text-sm ${wrong === undefined ? 'text-muted' : 'text-bad'}`}>
          {about}
        </p>
      )}
    </div>
  )
}

interface TextFieldProps extends Omit<FieldProps, 'children'> {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly placeholder?: string
  readonly mono?: boolean
  /** Hidden while typed, and not offered for saving. */
  readonly secret?: boolean
  readonly maxLength?: number
  readonly disabled?: boolean
  /** Only if the user has just asked for the field. */
  readonly autoFocus?: boolean
}

/** A field with one line of text. */
export const TextField = ({
  value,
  onChange,
  placeholder,
  mono,
  secret,
  maxLength,
  disabled,
  autoFocus,
  ...field
}: TextFieldProps) => (
  <Field {...field}>
    {(props) => (
      <input
        {...props}
        type={secret ? 'password' : 'text'}
        className={`field min-h-[2.375rem] ${mono ? 'font-mono text-sm' : ''}`}
        autoComplete={secret ? 'new-password' : 'off'}
        spellCheck={false}
        placeholder={placeholder}
        maxLength={maxLength}
        disabled={disabled}
        // biome-ignore lint/a11y/noAutofocus: the user has just asked for it.
        autoFocus={autoFocus}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    )}
  </Field>
)

interface TextAreaProps extends Omit<FieldProps, 'children'> {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly placeholder?: string
  readonly rows: number
  /** Called by Ctrl+Enter. */
  readonly onSubmit: () => void
}

/** A field for pasted text. */
export const TextArea = ({ value, onChange, placeholder, rows, onSubmit, ...field }: TextAreaProps) => (
  <Field {...field}>
    {(props) => (
      <textarea
        {...props}
        className="field font-mono text-sm"
        spellCheck={false}
        autoComplete="off"
        rows={rows}
        placeholder={placeholder}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
          event.preventDefault()
          onSubmit()
        }}
      />
    )}
  </Field>
)
