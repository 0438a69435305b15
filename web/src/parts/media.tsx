import { type ReactNode, useMemo } from 'react'
import type { ToolResult } from '../../../src/core/tool-result.ts'
import { inBytes } from './figures.ts'
import { JsonTree } from './json-tree.tsx'
import { Lightbox } from './lightbox.tsx'

interface Media {
  readonly mediaType: string
  readonly name: string
  readonly address: string
  /** Undefined for links, which aren't loaded. */
  readonly bytes?: number
}

interface ResultProps {
  readonly result: ToolResult
  readonly label: string
  /** Whether to show the whole envelope. */
  readonly whole?: boolean
}

/** A result: its images, audio and files, and the rest as JSON. */
export function ResultView({ result, label, whole = false }: ResultProps) {
  const { media, value } = useMemo(() => {
    const { media, rest } = split(result.success ? result.result : result.error)
    return { media, value: !whole ? rest : result.success ? { ...result, result: rest } : result }
  }, [result, whole])
  return <WithMedia media={media} value={value} label={label} />
}

/** The same for a stored result, without its envelope. */
export function ValueView({ value, label }: { readonly value: unknown; readonly label: string }) {
  const { media, rest } = useMemo(() => split(value), [value])
  return <WithMedia media={media} value={rest} label={label} />
}

interface WithMediaProps {
  readonly media: readonly Media[]
  readonly value: unknown
  readonly label: string
}

const isImage = ({ mediaType, bytes }: Media): boolean => bytes !== undefined && mediaType.startsWith('image/')

function WithMedia({ media, value, label }: WithMediaProps) {
  const images = media
    .filter(isImage)
    .map((one) => ({ media: one, address: one.address, title: one.name || one.mediaType }))
  return (
    <>
      {media.length > 0 && (
        <ul className="mb-3 grid gap-3" aria-label="Media">
          {media.map((one, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the media of a result never change
            <li key={index}>
              {isImage(one) ? (
                <Lightbox images={images} at={images.findIndex(({ media: of }) => of === one)} />
              ) : (
                shown(one)
              )}
            </li>
          ))}
        </ul>
      )}
      <JsonTree value={value} label={label} />
    </>
  )
}

function shown({ mediaType, name, address, bytes }: Media): ReactNode {
  const title = name || mediaType
  const link = 'text-accent underline underline-offset-2 break-all'
  if (bytes === undefined) {
    return (
      <a href={address} target="_blank" rel="noreferrer noopener" className={link}>
        {name || address}
      </a>
    )
  }
  // biome-ignore lint/a11y/useMediaCaption: a tool gives no captions
  if (mediaType.startsWith('audio/')) return <audio controls src={address} aria-label={title} className="max-w-full" />
  return (
    <a href={address} download={name || 'file'} className={link}>
      Download {title} ({inBytes(bytes)})
    </a>
  )
}

/** Finds media where models do: the result itself, its entries, or those of `content`. */
function split(result: unknown): { media: readonly Media[]; rest: unknown } {
  const media: Media[] = []
  const without = (value: unknown): unknown => {
    const one = read(Object(value))
    if (one === undefined) return value
    media.push(one)
    return `[${one.name || one.mediaType}]`
  }
  const { content } = Object(result) as { content?: unknown }
  if (Array.isArray(result)) return { media, rest: result.map(without) }
  if (Array.isArray(content)) return { media, rest: { ...(result as object), content: content.map(without) } }
  return { media, rest: without(result) }
}

function read(value: Readonly<Record<string, unknown>>): Media | undefined {
  const { type, mimeType, media_type = mimeType, data, url, uri, name } = value
  if (type === 'resource') {
    const { mimeType, blob, uri } = Object(value.resource) as Readonly<Record<string, unknown>>
    return mediaOf(mimeType, blob, undefined, String(uri).split('/').at(-1))
  }
  if (type === 'resource_link') return mediaOf(media_type, undefined, uri, name)
  return type === 'image' || type === 'audio' || type === 'file' ? mediaOf(media_type, data, url, name) : undefined
}

function mediaOf(given: unknown, data: unknown, url: unknown, called: unknown): Media | undefined {
  const mediaType = typeof given === 'string' ? given : 'application/octet-stream'
  const name = typeof called === 'string' ? called : ''
  if (typeof data === 'string' && /^[\w.+-]+\/[\w.+-]+$/.test(mediaType) && /^[A-Za-z0-9+/]+={0,2}$/.test(data)) {
    return { mediaType, name, address: `data:${mediaType};base64,${data}`, bytes: Math.round(data.length * 0.75) }
  }
  return typeof url === 'string' && /^https?:/i.test(url) ? { mediaType, name, address: url } : undefined
}
