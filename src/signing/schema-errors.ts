/** @module Schema errors as JSON Pointers and plain sentences. Values are never repeated: they may be secret or long. */
import { z } from 'zod'
import { nearestName } from '../../schemas/nearest-name.ts'
import { PolicyMembers } from '../../schemas/policy.ts'
import { jsonPointer } from './json-error.ts'

/** A body can have thousands of faults; the first ones suffice. */
const ERRORS_MAX = 20

export interface SchemaError {
  /** RFC 6901. */
  readonly pointer: string
  readonly message: string
  readonly [member: string]: string
}

export function schemaErrors(error: z.ZodError): SchemaError[] {
  return error.issues.flatMap(errorsOf).slice(0, ERRORS_MAX)
}

/** Errors named in a sentence; all of them are in the evidence. */
const NAMED = 3
const POINTER_CHARS = 100

/** Where a value does not fit and why, in one sentence: the first errors, and how many there are beyond them. */
export function errorsText(errors: readonly SchemaError[]): string {
  const named = errors.slice(0, NAMED).map(({ pointer, message }) => {
    const place = pointer.length > POINTER_CHARS ? `${pointer.slice(0, POINTER_CHARS)}…` : pointer
    return place === '' ? message : `${place}: ${message}`
  })
  const more = errors.length - named.length
  return named.join('; ') + (more > 0 ? `; and ${more} more` : '')
}

const UNKNOWN = 'this member is not part of the schema'

function errorsOf(issue: z.core.$ZodIssue): SchemaError[] {
  const path = issue.path.map((part) => (typeof part === 'number' ? part : String(part)))
  if (issue.code === 'invalid_union') {
    const intended = intendedIssues(issue)
    if (intended !== undefined)
      return intended.flatMap((each) => errorsOf({ ...each, path: [...issue.path, ...each.path] }))
  }
  if (issue.code !== 'unrecognized_keys') return [{ pointer: jsonPointer(path), message: messageOf(issue) }]
  return issue.keys.slice(0, ERRORS_MAX).map((key) => ({ pointer: jsonPointer([...path, key]), message: UNKNOWN }))
}

/** The errors of the union member that the value comes closest to: the first whose errors lie inside the value. */
function intendedIssues({ errors }: z.core.$ZodIssueInvalidUnion): readonly z.core.$ZodIssue[] | undefined {
  return errors.find((issues) => issues.some(({ code, path }) => path.length > 0 || code === 'unrecognized_keys'))
}

/** Zod's message, without repeating the input. */
function messageOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type' && issue.input === undefined && issue.message.includes('received undefined')) {
    return 'this member is required'
  }
  if (issue.code === 'invalid_key') return issue.issues[0]?.message ?? issue.message
  return issue.message
}

const POLICY_POINTER = /^\/policy(?:\/|$)/

/** Why a body is refused, alike at each entrance. `pointer` is set for a policy, which has its own code: the first error within it. */
export interface BodyFault {
  readonly code: 'invalid-body' | 'policy-invalid'
  readonly detail: string
  readonly pointer?: string
  readonly errors: readonly SchemaError[]
}

/** The fault of a body that `schema` has refused with `error`. */
export function bodyFault(schema: z.ZodType, error: z.ZodError): BodyFault {
  const errors = schemaErrors(error)
  const declaresPolicy = schema instanceof z.ZodObject && Object.hasOwn(schema.shape, 'policy')
  const ofPolicy = declaresPolicy ? errors.find(({ pointer }) => POLICY_POINTER.test(pointer)) : undefined
  if (ofPolicy === undefined) return { code: 'invalid-body', detail: errorsText(errors), errors }
  const { pointer } = ofPolicy
  return { code: 'policy-invalid', detail: errorsText([ofPolicy]) + policyAdvice(ofPolicy), pointer, errors }
}

/** The member that a misspelt one of a policy was probably meant to be. */
function policyAdvice({ pointer, message }: SchemaError): string {
  const [, name] = /^[/]policy[/]([^/]+)$/.exec(pointer) ?? []
  const known = Object.keys(PolicyMembers.shape)
  const nearest = message === UNKNOWN && name !== undefined ? nearestName(name, known) : undefined
  return nearest === undefined ? '' : `: did you mean ${nearest}?`
}
