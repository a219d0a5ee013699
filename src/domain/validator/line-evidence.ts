/** @module The evidence of one line of `countersign validate`: tool results as rows, whether their calls failed, and other known values. */
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { addEvidence, addToolResult, type Evidence, emptyEvidence } from './evidence.ts'
import { toolQuestion } from './grounding/answers.ts'
import { saysFailed } from './grounding/failed-answers.ts'
import { noteOutcome } from './grounding/recorded-results.ts'

/** A member `{tool, result}`, optionally with `call` and `args`, is a tool result; its index in the list serves as the revision of its event. */
export function evidenceOfLine(input: Json): Evidence {
  const evidence = emptyEvidence()
  const members: readonly Json[] = Array.isArray(input) ? input : [input]
  for (const [revision, member] of members.entries()) {
    if (isAnswer(member)) addAnswer(evidence, member, revision)
    else addEvidence(evidence, member)
  }
  return evidence
}

type ToolAnswer = JsonObject & { readonly tool: string; readonly result: Json }

function isAnswer(member: Json): member is ToolAnswer {
  return isJsonObject(member) && typeof member.tool === 'string' && member.result !== undefined
}

function addAnswer(evidence: Evidence, { tool, call, args, result }: ToolAnswer, revision: number): void {
  const asked = toolQuestion(tool, args)
  const failed = saysFailed(result, asked)
  noteOutcome(evidence.results, typeof call === 'string' ? call : `${revision}`, { tool, revision }, failed)
  addToolResult(evidence, { value: result, revision, asked, bytes: 0 })
}
