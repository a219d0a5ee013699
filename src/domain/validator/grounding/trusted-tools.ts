/** @module What a policy says of the tools of a run: whose answers are no word about what is established, and which places those of others may move (JUD-80). */
import { parsePointer, type Token } from '../../../../schemas/json-pointer.ts'
import type { ToolTrust } from '../../../../schemas/place-policy.ts'

/** Undefined stands for a tool that nobody knows. */
export type IsTrusted = (tool: string | undefined) => boolean

export interface Tools {
  readonly isTrusted: IsTrusted
  /** Whether an answer of the tool may change what is established at a place. */
  readonly moves: (tool: string | undefined, place: readonly Token[]) => boolean
}

export const ALL_TOOLS: Tools = { isTrusted: () => true, moves: () => true }

export function toolsUnder(evidence: readonly ToolTrust[]): Tools {
  const untrusted = new Set<string | undefined>()
  const places = new Map<string | undefined, (readonly string[])[][]>()
  for (const rule of evidence) {
    if ('untrusted' in rule) untrusted.add(rule.tool)
    else places.set(rule.tool, [...(places.get(rule.tool) ?? []), rule.moves.map(tokensOf)])
  }
  return {
    isTrusted: (tool) => !untrusted.has(tool),
    // Where several say it, all of them permit it.
    moves: (tool, place) => (places.get(tool) ?? []).every((rule) => rule.some((tokens) => covers(tokens, place))),
  }
}

function tokensOf(pointer: string): readonly string[] {
  const tokens = parsePointer(pointer) ?? []
  return tokens.at(-1) === '**' ? tokens.slice(0, -1) : tokens
}

function covers(tokens: readonly string[], place: readonly Token[]): boolean {
  return tokens.length <= place.length && tokens.every((token, i) => token === '*' || token === `${place[i]}`)
}
