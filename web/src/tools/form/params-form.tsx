import Form, { type IChangeEvent } from '@rjsf/core'
import type { ErrorSchema, RJSFSchema } from '@rjsf/utils'
import { useMemo } from 'react'
import type { JsonSchema } from '../../../../src/core/tool.ts'
import type { Problem } from '../../../../src/core/tool-result.ts'
import { buttonTemplates } from './button-templates.tsx'
import { fieldTemplates, widgets } from './field-templates.tsx'
import { formValidator } from './form-validator.ts'
import { problemsByField, withGivenValues } from './problems-by-field.ts'
import './params-form.css'

interface ParamsFormProps {
  readonly schema: JsonSchema
  readonly params: Record<string, unknown>
  readonly onParams: (params: Record<string, unknown>) => void
  /** Problems from the last call. */
  readonly problems: readonly Problem[]
}

const TEMPLATES = { ...fieldTemplates, ButtonTemplates: buttonTemplates }
const UI = { 'ui:submitButtonOptions': { norender: true }, 'ui:title': ' ' }
const DEFAULTS = { emptyObjectFields: 'skipEmptyDefaults', arrayMinItems: { populate: 'requiredOnly' } } as const

/** A schema that allows anything has no form field. */
const takesAnything = (schema: unknown): boolean =>
  schema === true || (typeof schema === 'object' && schema !== null && Object.keys(schema).length === 0)

/** A form generated from a schema. The server validates; its errors appear at the fields. */
export function ParamsForm({ schema, params, onParams, problems }: ParamsFormProps) {
  const text = JSON.stringify(withGivenValues(schema, params))
  const shown = useMemo(() => ({ ...JSON.parse(text), title: undefined, description: undefined }) as RJSFSchema, [text])
  const errors = useMemo(() => problemsByField(problems) as ErrorSchema, [problems])
  const properties = Object.entries((schema.properties as Record<string, unknown> | undefined) ?? {})
  const fieldless = properties.filter(([, inner]) => takesAnything(inner)).map(([name]) => name)
  const change = ({ formData }: IChangeEvent) => {
    const next = JSON.parse(JSON.stringify(formData ?? {})) as Record<string, unknown>
    if (JSON.stringify(next) !== JSON.stringify(params)) onParams(next)
  }
  return (
    <div className="params-form">
      {properties.length === 0 && <p className="text-muted">No named parameters.</p>}
      <Form
        schema={shown}
        uiSchema={UI}
        formData={params}
        validator={formValidator}
        templates={TEMPLATES}
        widgets={widgets}
        extraErrors={errors}
        noHtml5Validate
        noValidate
        showErrorList={false}
        experimental_defaultFormStateBehavior={DEFAULTS}
        onChange={change}
        tagName="div"
        idPrefix="param"
      />
      {fieldless.length > 0 && (
        <p className="mt-3 text-sm text-muted">
          <span className="font-mono wrap-anywhere">{fieldless.join(', ')}</span> takes any value: enter it as JSON.
        </p>
      )}
    </div>
  )
}
