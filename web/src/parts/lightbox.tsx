import { Dialog } from '@base-ui/react/dialog'
import { useState } from 'react'
import { Button } from './button.tsx'
import { CrossIcon } from './icons.tsx'

interface LightboxImage {
  readonly address: string
  readonly title: string
}

/** A small image that opens in its full size. Esc closes it, the arrow keys show the next and the one before. */
export function Lightbox({ images, at }: { readonly images: readonly LightboxImage[]; readonly at: number }) {
  const [shown, setShown] = useState<number>()
  const own = images[at]
  const current = shown === undefined ? undefined : images[shown]
  if (own === undefined) return null
  const move = (by: number) => setShown(((shown ?? at) + by + images.length) % images.length)
  return (
    <Dialog.Root open={current !== undefined} onOpenChange={(open) => setShown(open ? at : undefined)}>
      <Dialog.Trigger aria-label={`Enlarge ${own.title}`} className="max-w-full cursor-zoom-in rounded-md">
        <img src={own.address} alt={own.title} className="max-h-96 max-w-full" />
      </Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-40 bg-black/70" />
        <Dialog.Popup
          className="fixed inset-2 z-50 flex flex-col gap-2 rounded-xl border border-line bg-panel p-3 sm:inset-6"
          onKeyDown={({ key }) => {
            if (key === 'ArrowRight') move(1)
            if (key === 'ArrowLeft') move(-1)
          }}
        >
          <div className="flex items-center gap-2">
            <Dialog.Title className="min-w-0 flex-1 truncate font-medium">{current?.title}</Dialog.Title>
            {images.length > 1 && (
              <>
                <span className="text-sm text-muted tabular-nums">
                  {(shown ?? at) + 1} of {images.length}
                </span>
                <Button onClick={() => move(-1)}>Previous</Button>
                <Button onClick={() => move(1)}>Next</Button>
              </>
            )}
            <Dialog.Close
              aria-label="Close"
              className="min-h-9 min-w-9 rounded-lg p-2 text-muted hover:bg-sunk hover:text-ink"
            >
              <CrossIcon />
            </Dialog.Close>
          </div>
          <img src={current?.address} alt={current?.title} className="min-h-0 w-full flex-1 object-contain" />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
