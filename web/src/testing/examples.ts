/** A query to try, and what a model that can use tools makes of it. */
export interface Example {
  readonly title: string
  readonly query: string
  readonly expected: string
}

export const EXAMPLES: readonly Example[] = [
  {
    title: 'Simple Tool Call',
    query: "What's the weather in Paris?",
    expected: 'Calls a weather tool once, with Paris, and answers with what it gives.',
  },
  {
    title: 'Calculator',
    query: 'Calculate 15% tip on $45',
    expected: 'Calls a calculator, and answers $6.75.',
  },
  {
    title: 'Direct Answer Test',
    query: "What's 2+2?",
    expected: 'Answers 4 by itself: a tool may be called, but none is needed.',
  },
  {
    title: 'RAG Tool',
    query: 'Search for Python decorators in the docs',
    expected: 'Calls the tool that searches documents, and answers from what it finds, or says that there is nothing.',
  },
]
