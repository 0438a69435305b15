import { llamaWire } from '../llama/llama-wire.ts'
import { miniWire } from '../mini/mini-wire.ts'
import type { WireMaker } from '../provider.ts'
import { anthropicWire } from './anthropic.ts'
import { geminiWire } from './gemini.ts'
import { ollamaWire } from './ollama.ts'
import { openaiWire } from './openai.ts'

/** How each type of provider is spoken to. */
export const wires: Readonly<Record<string, WireMaker>> = {
  openai: openaiWire,
  anthropic: anthropicWire,
  gemini: geminiWire,
  ollama: ollamaWire,
  llama: llamaWire,
  mini: miniWire,
}
