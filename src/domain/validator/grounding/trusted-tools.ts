/** @module The policy's rules for tools: which tools are not trusted as evidence, and which places the answers of the others may change (JUD-80). */
import { parsePointer, type Token } from '../../../../schemas/json-pointer.ts'
import type { ToolTrust } from '../../../../schemas/place-policy.ts'

/** Undefined means an unknown tool. */
export type IsTrusted = (tool: string | undefined) => boolean

export interface Tools {
  readonly isTrusted: IsTrusted
  /** Whether an answer of the tool may change the established value of a place. */
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
    // If several rules apply to a tool, all of them must permit the place.
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
