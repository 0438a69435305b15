import { useEffect, useState } from 'react'
import { Button } from './button.tsx'
import { CheckIcon, CopyIcon } from './icons.tsx'

const SHOWN_MS = 2_000

interface CopyButtonProps {
  readonly text: string
  readonly label?: string
  readonly look?: 'plain' | 'quiet'
}

/** Copies text and shows whether that worked. */
export function CopyButton({ text, label = 'Copy', look = 'plain' }: CopyButtonProps) {
  const [said, setSaid] = useState<'copied' | 'failed'>()
  useEffect(() => {
    if (said === undefined) return
    const timer = setTimeout(() => setSaid(undefined), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [said])
  const copy = () =>
    navigator.clipboard
      ? navigator.clipboard.writeText(text).then(
          () => setSaid('copied'),
          () => setSaid('failed'),
        )
      : setSaid('failed')
  return (
    <Button look={look} onClick={() => void copy()}>
      {said === 'copied' ? <CheckIcon /> : <CopyIcon />}
      <span aria-live="polite">{said === 'copied' ? 'Copied' : said === 'failed' ? 'Copy failed' : label}</span>
    </Button>
  )
}
