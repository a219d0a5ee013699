/** @module Parses arguments with the tool's schema; invalid arguments are refused before anything is claimed. */
import { AgentError } from '../errors.ts'
import { issuePointer } from './standard-schema.ts'
import type { ToolSpec } from './tool-spec.ts'

/** The arguments of a call as parsed by the tool's input schema. Throws `invalid-arguments`, with a pointer and a message for each issue. */
export async function parseArguments({ input: schema, name }: ToolSpec, input: unknown): Promise<unknown> {
  if (schema === undefined) return input
  const parsed = await schema['~standard'].validate(input)
  if (parsed.issues === undefined) return parsed.value
  const issues = parsed.issues.map((issue) => ({ pointer: issuePointer(issue), message: issue.message }))
  const first = issues[0] === undefined ? '' : `: ${issues[0].pointer} ${issues[0].message}`
  throw new AgentError('invalid-arguments', `the arguments of ${name} do not fit its schema${first}`, {
    tool: name,
    issues,
  })
}
