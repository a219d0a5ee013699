/**
 * @module Compiles schemas to plain predicates that take a fifth of zod's time, which also copies the value and collects errors. Only
 * constructs known to mean the same are compiled; a schema with any other construct is left to zod.
 */
import type { z } from 'zod'

/** Accepts only values that zod accepts. If it rejects a value, zod decides and gives the reason. */
export type Accepts = (value: unknown) => boolean

type Schema = z.core.$ZodType
/** Zod's internal definition of a schema or of a check, read member by member. */
type Definition = Readonly<Record<string, unknown>>

/** Thrown inside this module only. */
class NotCompiled extends Error {}

/** Undefined if the schema has a construct that is not compiled. */
export function compileSchema(schema: Schema): Accepts | undefined {
  try {
    return compiled(schema)
  } catch (error) {
    if (error instanceof NotCompiled) return undefined
    throw error
  }
}

const compiledBefore = new WeakMap<Schema, Accepts | null>()

/** Whether a value fits a schema, as `safeParse` decides, but without its copy of the value. */
export function isOfSchema(schema: z.ZodType, value: unknown): boolean {
  let accepts = compiledBefore.get(schema)
  if (accepts === undefined) {
    accepts = compileSchema(schema) ?? null
    compiledBefore.set(schema, accepts)
  }
  return accepts?.(value) === true || schema.safeParse(value).success
}

function compiled(schema: Schema): Accepts {
  const definition = schema._zod.def as unknown as Definition
  const kind = KINDS[String(definition.type)]
  if (kind === undefined || definition.coerce === true) throw new NotCompiled()
  return allOf([kind(definition), ...checksOf(definition)])
}

const KINDS: Readonly<Record<string, (definition: Definition) => Accepts>> = {
  any: () => () => true,
  null: () => (value) => value === null,
  boolean: () => (value) => typeof value === 'boolean',
  string: stringOf,
  number: numberOf,
  literal: ({ values }) => oneOf(values as readonly unknown[]),
  enum: ({ entries }) => oneOf(Object.values(entries as object)),
  optional: ({ innerType }) => or(innerType, undefined),
  nullable: ({ innerType }) => or(innerType, null),
  readonly: ({ innerType }) => compiled(innerType as Schema),
  array: arrayOf,
  object: objectOf,
  record: recordOf,
  union: unionOf,
}

function stringOf({ format, pattern }: Definition): Accepts {
  if (format === undefined) return (value) => typeof value === 'string'
  if (format !== 'uuid' || !(pattern instanceof RegExp)) throw new NotCompiled()
  return (value) => typeof value === 'string' && pattern.test(value)
}

function numberOf({ format }: Definition): Accepts {
  if (format === undefined) return Number.isFinite
  if (format !== 'safeint') throw new NotCompiled()
  return Number.isSafeInteger
}

function oneOf(values: readonly unknown[]): Accepts {
  const [only] = values
  if (values.length === 1) return (value) => value === only
  const known = new Set(values)
  return (value) => known.has(value)
}

function or(inner: unknown, other: null | undefined): Accepts {
  const accepts = compiled(inner as Schema)
  return (value) => value === other || accepts(value)
}

function arrayOf({ element }: Definition): Accepts {
  const accepts = compiled(element as Schema)
  return (value) => Array.isArray(value) && value.every(accepts)
}

/** Compiles strict objects only: other objects drop unknown members from the copy that the checks see. */
function objectOf({ shape, catchall }: Definition): Accepts {
  if ((catchall as Schema | undefined)?._zod.def.type !== 'never') throw new NotCompiled()
  const members = new Map(
    Object.entries(shape as Readonly<Record<string, Schema>>).map(([name, member]) => [
      name,
      memberOf(compiled(member)),
    ]),
  )
  const needed = [...members.values()].filter((member) => member.isNeeded).length
  return (value) => {
    if (!isObject(value)) return false
    let found = 0
    for (const name in value) {
      const member = members.get(name)
      if (member?.accepts(value[name]) !== true) return false
      if (member.isNeeded) found += 1
    }
    return found === needed
  }
}

function memberOf(accepts: Accepts) {
  return { accepts, isNeeded: !accepts(undefined) }
}

function recordOf({ keyType, valueType }: Definition): Accepts {
  if ((keyType as Schema)._zod.def.type !== 'string') throw new NotCompiled()
  const [acceptsKey, acceptsValue] = [compiled(keyType as Schema), compiled(valueType as Schema)]
  // Zod skips a member of this name in a record, so it is skipped here: the verdicts stay the same.
  return (value) =>
    isObject(value) &&
    Object.entries(value).every(([name, member]) => name === '__proto__' || (acceptsKey(name) && acceptsValue(member)))
}

function unionOf({ options, inclusive }: Definition): Accepts {
  if (inclusive === false) throw new NotCompiled()
  const accepted = (options as readonly Schema[]).map(compiled)
  return (value) => accepted.some((accepts) => accepts(value))
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A check that zod would run only on some values is run on all of them, which may reject more values but never fewer. */
function checksOf({ checks = [] }: Definition): readonly Accepts[] {
  return (checks as readonly z.core.$ZodCheck[]).map((check) => {
    const definition = check._zod.def as unknown as Definition
    const compile = CHECKS[String(definition.check)]
    if (compile === undefined) throw new NotCompiled()
    return compile(definition)
  })
}

type Sized = { readonly length: number }

const CHECKS: Readonly<Record<string, (definition: Definition) => Accepts>> = {
  min_length:
    ({ minimum }) =>
    (value) =>
      (value as Sized).length >= Number(minimum),
  max_length:
    ({ maximum }) =>
    (value) =>
      (value as Sized).length <= Number(maximum),
  greater_than: ({ value: least, inclusive }) =>
    inclusive === true ? (value) => Number(value) >= Number(least) : (value) => Number(value) > Number(least),
  less_than: ({ value: most, inclusive }) =>
    inclusive === true ? (value) => Number(value) <= Number(most) : (value) => Number(value) < Number(most),
  string_format: ({ format, pattern }) => {
    if (format !== 'regex' || !(pattern instanceof RegExp) || pattern.global || pattern.sticky) throw new NotCompiled()
    return (value) => pattern.test(value as string)
  },
  custom: ({ fn }) => {
    if (typeof fn !== 'function') throw new NotCompiled()
    return (value) => fn(value) === true
  },
}

/** Runs the checks in order, because a check expects values of its own type. */
function allOf([first, ...others]: readonly Accepts[]): Accepts {
  if (first === undefined) throw new NotCompiled()
  const [second, third] = others
  if (second === undefined) return first
  if (third === undefined) return (value) => first(value) && second(value)
  return (value) => first(value) && others.every((accepts) => accepts(value))
}
