/** @module The evidence of one line of `countersign validate`: results of tools as rows, with which call failed, and whatever else was known. */
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { addEvidence, addToolResult, type Evidence, emptyEvidence } from './evidence.ts'
import { toolQuestion } from './grounding/answers.ts'
import { noteOutcome, saysError } from './grounding/recorded-results.ts'

/** A member `{tool, result}`, with `call` and `args` where they are known, is what a tool answered; the place in the list stands for its event. */
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
  const failed = saysError(result)
  noteOutcome(evidence.results, typeof call === 'string' ? call : `${revision}`, { tool, revision }, failed)
  addToolResult(evidence, { value: result, revision, asked: toolQuestion(tool, args), bytes: 0 })
}
