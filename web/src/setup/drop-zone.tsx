import { type DragEvent, useRef, useState } from 'react'
import { Button } from '../parts/button.tsx'

interface DropZoneProps {
  readonly label: string
  readonly hint: string
  readonly accept?: string
  readonly multiple?: boolean
  readonly onFiles: (files: readonly File[]) => void
}

/** Takes dropped files. The button opens the file dialog, also with the keyboard. */
export function DropZone({ label, hint, accept, multiple = false, onFiles }: DropZoneProps) {
  const input = useRef<HTMLInputElement>(null)
  const [over, setOver] = useState(false)
  const drop = (event: DragEvent) => {
    event.preventDefault()
    setOver(false)
    const files = [...event.dataTransfer.files]
    if (files.length > 0) onFiles(multiple ? files : files.slice(0, 1))
  }
  return (
    <section
      aria-label={label}
      className={`grid place-items-center gap-2 rounded-lg border border-dashed p-4 text-center text-sm ${over ? 'border-accent bg-accent-ground' : 'border-edge'}`}
      onDragOver={(event) => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <p className="text-muted">{hint}</p>
      <Button onClick={() => input.current?.click()}>{label}</Button>
      <input
        ref={input}
        type="file"
        hidden
        accept={accept}
        multiple={multiple}
        onChange={({ target }) => {
          const files = [...(target.files ?? [])]
          // The same file can be chosen again.
          target.value = ''
          if (files.length > 0) onFiles(files)
        }}
      />
    </section>
  )
}
