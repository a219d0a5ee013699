/** @module Splits a ledger's server-sent events into frames, each of which ends with an empty line. */

export interface Frame {
  readonly id: string | undefined
  readonly data: string | undefined
}

export async function* frames(chunks: AsyncIterable<string>): AsyncGenerator<Frame, void> {
  let rest = ''
  for await (const chunk of chunks) {
    const parts = (rest + chunk).split('\n\n')
    rest = parts.pop() ?? ''
    for (const part of parts) yield { id: fieldOf(part, 'id'), data: fieldOf(part, 'data') }
  }
}

function fieldOf(frame: string, name: string): string | undefined {
  const line = frame.split('\n').find((each) => each.startsWith(`${name}: `))
  return line?.slice(name.length + 2)
}
