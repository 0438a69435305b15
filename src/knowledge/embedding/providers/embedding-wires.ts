import type { EmbeddingWireMaker } from '../embedding-wire.ts'
import { geminiEmbeddings } from './gemini.ts'
import { ollamaEmbeddings } from './ollama.ts'
import { openaiEmbeddings } from './openai.ts'

/** How each type of provider that has embedding models is spoken to. */
export const embeddingWires: Readonly<Record<string, EmbeddingWireMaker>> = {
  openai: openaiEmbeddings,
  gemini: geminiEmbeddings,
  ollama: ollamaEmbeddings,
}
