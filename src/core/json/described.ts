import type { FromSchema, JSONSchema } from 'json-schema-to-ts'

/** The values that a schema describes, read-only. Keys that it doesn't name are left out, unless it names none. */
export type Described<Schema extends JSONSchema> = Plain<FromSchema<Schema, { keepDefaultedPropertiesOptional: true }>>

type Plain<Value> = Value extends readonly (infer Item)[]
  ? readonly Plain<Item>[]
  : Value extends object
    ? { readonly [Key in keyof Value as string extends Key ? OtherKey<Value> : Key]: Plain<Value[Key]> }
    : Value

type OtherKey<Value> = keyof { [Key in keyof Value as string extends Key ? never : Key]: true } extends never
  ? string
  : never
