/** @module The part of Standard Schema (standardschema.dev, version 1) that arguments are parsed with: zod, valibot, arktype and others fit. */
import { pointerStep } from '../../../schemas/json-pointer.ts'

/** A schema of any library that follows Standard Schema 1: zod, valibot, arktype and others. */
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

/** The place of an issue as a JSON Pointer. */
export function issuePointer({ path = [] }: SchemaIssue): string {
  return path.map((part) => pointerStep(String(typeof part === 'object' ? part.key : part))).join('')
}
