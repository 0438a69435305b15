import type { Prompt, Resource } from '@modelcontextprotocol/server'
import type { Library } from '../../src/mcp/server/library.ts'

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='

const RESOURCES: readonly (Resource & { readonly text?: string; readonly blob?: string })[] = [
  {
    uri: 'test://static-text',
    name: 'static-text',
    description: 'A text',
    mimeType: 'text/plain',
    text: 'This is the content of the static text resource.',
  },
  { uri: 'test://static-binary', name: 'static-binary', description: 'An image', mimeType: 'image/png', blob: PIXEL },
  { uri: 'test://watched-resource', name: 'watched', description: 'A text', mimeType: 'text/plain', text: 'Watched' },
]

const PROMPTS: readonly Prompt[] = [
  { name: 'test_simple_prompt', description: 'A prompt' },
  {
    name: 'test_prompt_with_arguments',
    description: 'A prompt with arguments',
    arguments: [
      { name: 'arg1', required: true },
      { name: 'arg2', required: true },
    ],
  },
  {
    name: 'test_prompt_with_embedded_resource',
    description: 'A prompt with a resource',
    arguments: [{ name: 'resourceUri', required: true }],
  },
  { name: 'test_prompt_with_image', description: 'A prompt with an image' },
]

const user = <T>(content: T) => ({ role: 'user' as const, content })
const text = (words: string) => user({ type: 'text' as const, text: words })

/** The resources and prompts that the conformance suite asks for, and a way to say that the prompts have changed. */
export function fixtureLibrary(): Library & { changePrompts(): void } {
  const listeners = new Set<(what: 'resources' | 'prompts') => void>()
  return {
    changePrompts() {
      for (const listener of listeners) listener('prompts')
    },
    onChange(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    listResources: async () => RESOURCES.map(({ text: _text, blob: _blob, ...listed }) => listed),
    listResourceTemplates: async () => [
      { uriTemplate: 'test://template/{id}/data', name: 'template', description: 'Data by id' },
    ],
    readResource: async (uri) => {
      const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1]
      if (id !== undefined) {
        const data = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` })
        return { contents: [{ uri, mimeType: 'application/json', text: data }] }
      }
      const found = RESOURCES.find((resource) => resource.uri === uri)
      if (found === undefined) return undefined
      const { mimeType = 'text/plain', blob } = found
      return { contents: [blob === undefined ? { uri, mimeType, text: found.text ?? '' } : { uri, mimeType, blob }] }
    },
    listPrompts: async () => PROMPTS,
    getPrompt: async (name, args) => {
      switch (name) {
        case 'test_simple_prompt':
          return { messages: [text('This is a simple prompt for testing.')] }
        case 'test_prompt_with_arguments':
          return { messages: [text(`Prompt with arguments: arg1='${args.arg1}', arg2='${args.arg2}'`)] }
        case 'test_prompt_with_embedded_resource': {
          const resource = {
            uri: args.resourceUri ?? '',
            mimeType: 'text/plain',
            text: 'Embedded resource content for testing.',
          }
          return {
            messages: [user({ type: 'resource', resource }), text('Please process the embedded resource above.')],
          }
        }
        case 'test_prompt_with_image':
          return {
            messages: [
              user({ type: 'image', data: PIXEL, mimeType: 'image/png' }),
              text('Please analyze the image above.'),
            ],
          }
        default:
          return undefined
      }
    },
  }
}
