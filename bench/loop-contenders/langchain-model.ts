import { BaseChatModel, type BindToolsInput } from '@langchain/core/language_models/chat_models'
import { AIMessage } from '@langchain/core/messages'
import type { ChatResult } from '@langchain/core/outputs'
import { ANSWER, scriptedAnswers } from '../loop-script.ts'
import type { LoopShape } from '../loop-shape.ts'
import { NAME } from '../weather.ts'

/** The model that answers from memory, as a LangChain chat model. */
export class LangChainModel extends BaseChatModel {
  /** Makes a new message each time: the graph writes an id into the one it gets. */
  readonly #next: () => () => AIMessage

  constructor(shape: LoopShape) {
    super({})
    this.#next = scriptedAnswers<() => AIMessage>(
      shape,
      (calls) => {
        const tool_calls = calls.map(({ id, params }) => ({ id, name: NAME, args: params, type: 'tool_call' as const }))
        return () => new AIMessage({ content: '', tool_calls })
      },
      () => new AIMessage({ content: ANSWER }),
    )
  }

  override _llmType(): string {
    return 'bench'
  }

  override bindTools(tools: BindToolsInput[]) {
    return this.withConfig({ tools } as object)
  }

  override async _generate(): Promise<ChatResult> {
    const message = this.#next()()
    return { generations: [{ text: message.text, message }] }
  }
}
