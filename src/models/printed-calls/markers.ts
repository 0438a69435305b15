/** How a model family marks calls. */
export interface Marker {
  readonly open: string
  /** Undefined if the call extends to the end of the message. */
  readonly close: string | undefined
  /** The opening contains the name of the tool. */
  readonly named?: true
}

const tag = (name: string): Marker => ({ open: `<${name}>`, close: `</${name}>` })

/** No opening is a prefix of another. */
export const MARKERS: readonly Marker[] = [
  tag('tool_call'), // Hermes, Qwen 2.5 and 3, Qwen 3 Coder, GLM 4.5, Granite 4
  tag('tool_calls'), // MiniMax M1, Hunyuan, Jamba
  tag('tools'), // Qwen 2.5 Coder, which takes the tag of the list for that of a call
  tag('function_call'), // Granite 20B, xLAM
  tag('function_calls'), // models trained on Claude's answers
  tag('functioncall'), // Glaive, older fine-tunes
  tag('minimax:tool_call'), // MiniMax M2
  tag('seed:tool_call'), // Seed OSS
  tag('TOOLCALL'), // Nemotron
  { open: '<function=', close: '</function>', named: true }, // Llama 3.1, Qwen 3 Coder without its outer tag
  { open: '<|python_tag|>', close: undefined }, // Llama 3.1 to 3.3
  { open: '[TOOL_CALLS]', close: undefined }, // Mistral, Mixtral, Devstral, Magistral
  { open: '<|tool_call|>', close: '<|/tool_call|>' }, // Phi 4 mini, Granite 3
  { open: '<|tool_call_start|>', close: '<|tool_call_end|>' }, // LFM 2
  { open: '<|START_ACTION|>', close: '<|END_ACTION|>' }, // Command R7B, Command A
  { open: '<|action_start|>', close: '<|action_end|>' }, // InternLM
  { open: '<|tool_calls_section_begin|>', close: '<|tool_calls_section_end|>' }, // Kimi K2
  { open: '<｜tool▁calls▁begin｜>', close: '<｜tool▁calls▁end｜>' }, // DeepSeek V3 and R1
  { open: '<|channel|>commentary to=', close: '<|call|>' }, // gpt-oss
]

/** Labels of code fences that may contain calls. */
export const FENCE_LABELS: readonly string[] = [
  '',
  'json',
  'tool_call',
  'tool_calls',
  'tool_code',
  'tool',
  'function_call',
  'xml',
  'python',
]
