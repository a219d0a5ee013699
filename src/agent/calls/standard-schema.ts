/** @module The part of Standard Schema (standardschema.dev, version 1) that is used to parse arguments: zod, valibot, arktype and others implement it. */
import { pointerStep } from '../../../schemas/json-pointer.ts'

/** A schema of any library that implements Standard Schema 1, such as zod, valibot or arktype. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
  }
}

type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] }

export interface SchemaIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** The path of an issue as a JSON Pointer. */
export function issuePointer({ path = [] }: SchemaIssue): string {
  return path.map((part) => pointerStep(String(typeof part === 'object' ? part.key : part))).join('')
}
