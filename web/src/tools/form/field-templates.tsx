import { getDefaultRegistry } from '@rjsf/core'
import {
  ADDITIONAL_PROPERTY_FLAG,
  type ArrayFieldItemTemplateProps,
  buttonId,
  type FieldTemplateProps,
  getTemplate,
  getUiOptions,
  type MultiSchemaFieldTemplateProps,
  type WidgetProps,
  type WrapIfAdditionalTemplateProps,
} from '@rjsf/utils'
import { type ComponentType, useEffect } from 'react'
import { GIVEN } from './problems-by-field.ts'

/** An array item with its buttons. */
function ArrayFieldItemTemplate({
  children,
  buttonsProps,
  hasToolbar,
  registry,
  uiSchema,
}: ArrayFieldItemTemplateProps) {
  const Buttons = getTemplate('ArrayFieldItemButtonsTemplate', registry, getUiOptions(uiSchema))
  return (
    <div className="flex items-start gap-2">
      <div className="min-w-0 flex-1">{children}</div>
      {hasToolbar && (
        <div className="flex gap-1 pt-1">
          <Buttons {...buttonsProps} />
        </div>
      )}
    </div>
  )
}

/** A `oneOf` select with the fields of the selected schema. */
const MultiSchemaFieldTemplate = ({ selector, optionSchemaField }: MultiSchemaFieldTemplateProps) => (
  <div className="rounded-lg border border-line p-3">
    {/* biome-ignore lint/a11y/noLabelWithoutControl: the library makes the control. */}
    <label>
      One of
      {selector}
    </label>
    <div className="mt-2">{optionSchemaField}</div>
  </div>
)

/** A field with an editable name. */
function WrapIfAdditionalTemplate(props: WrapIfAdditionalTemplateProps) {
  const { id, classNames, label, onKeyRenameBlur, onRemoveProperty, schema, children, uiSchema, registry } = props
  const { RemoveButton } = registry.templates.ButtonTemplates
  if (!(ADDITIONAL_PROPERTY_FLAG in schema)) return <div className={classNames}>{children}</div>
  return (
    <div className={`flex items-end gap-2 ${classNames ?? ''}`}>
      <div className="w-1/3">
        <label htmlFor={`${id}-key`}>Name</label>
        <input className="form-control" id={`${id}-key`} defaultValue={label} key={label} onBlur={onKeyRenameBlur} />
      </div>
      <div className="min-w-0 flex-1">{children}</div>
      <RemoveButton
        id={buttonId(id, 'remove')}
        onClick={onRemoveProperty}
        uiSchema={uiSchema ?? {}}
        registry={registry}
      />
    </div>
  )
}

const { FieldTemplate: Field } = getDefaultRegistry().templates

/** Marks the control of a field that has problems. The widgets of the library can't be told to. */
function FieldTemplate(props: FieldTemplateProps) {
  const { id, rawErrors = [] } = props
  const isWrong = rawErrors.length > 0
  useEffect(() => {
    const control = document.getElementById(id)
    if (control?.matches('input, select, textarea')) control.setAttribute('aria-invalid', String(isWrong))
  })
  return <Field {...props} />
}

export const fieldTemplates = {
  ArrayFieldItemTemplate,
  FieldTemplate,
  MultiSchemaFieldTemplate,
  WrapIfAdditionalTemplate,
}

const { SelectWidget: Select, CheckboxesWidget: Checkboxes } = getDefaultRegistry().widgets as Record<
  'SelectWidget' | 'CheckboxesWidget',
  ComponentType<WidgetProps>
>

/** Marks values that the schema doesn't allow. Several values are checkboxes: a list needs the Ctrl key. */
function SelectWidget({ options, schema, ...props }: WidgetProps) {
  if (props.multiple) return <Checkboxes {...props} schema={schema} options={options} />
  const given = ((schema as Readonly<Record<string, unknown>>)[GIVEN] as readonly unknown[] | undefined) ?? []
  const enumOptions = options.enumOptions?.map((option) =>
    given.includes(option.value) ? { ...option, label: `${JSON.stringify(option.value)} (not allowed)` } : option,
  )
  return <Select {...props} schema={schema} options={{ ...options, ...(enumOptions && { enumOptions }) }} />
}

export const widgets = { SelectWidget }
