import { type Schema, Validator } from '@cfworker/json-schema'
import type { RJSFSchema, ValidatorType } from '@rjsf/utils'

const known = new WeakMap<object, Validator>()

/**
 * Finds the matching branch of a `oneOf`. The default validator generates code, which the page's CSP
 * forbids. The server validates everything else.
 */
export const formValidator: ValidatorType = {
  isValid(schema, data, root) {
    try {
      return validatorOf(schema, root).validate(data).valid
    } catch {
      return false
    }
  },
  validateFormData: () => ({ errors: [], errorSchema: {} }),
  rawValidation: () => ({ errors: [] }),
}

function validatorOf(schema: RJSFSchema, root: RJSFSchema): Validator {
  const found = known.get(schema)
  if (found !== undefined) return found
  const { $defs, definitions } = root
  const whole = { ...($defs && { $defs }), ...(definitions && { definitions }), ...schema }
  const made = new Validator(whole as Schema, '2020-12')
  known.set(schema, made)
  return made
}
