import { describe, test } from 'vitest'

describe('Response rules', () => {
  test.todo('configuration responses[]: match, llm, model, prompt, max_tokens, temperature, tools')
  test.todo('configuration responses[]: the first rule that matches answers')
  test.todo('intent_regexp is a JavaScript literal tested against profile.intent, else the message')
  test.todo("every other key of match must equal the profile's")
  test.todo('all must hold')
  test.todo('a rule without match always does')
  test.todo('none: 400 No response rule matches')
  test.todo("the prompt is the system message; then previous messages; then the user's")
  test.todo('{{name}} is user_message, a value of the profile, or rag_context')
  test.todo('an unknown one is empty, with a warning at load')
  test.todo('llm is a key of providers; else Provider <name> not found')
})
