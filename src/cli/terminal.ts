/** @module Colours, if the terminal supports them and the user has not opted out (https://no-color.org). */
export type Colour = 'red' | 'green' | 'yellow' | 'dim' | 'bold'

const CODES: Readonly<Record<Colour, string>> = { red: '31', green: '32', yellow: '33', dim: '2', bold: '1' }

export type Paint = (text: string, colour: Colour) => string

/** A painter for one stream; text stays unchanged if the stream is not a terminal. */
export function painter(stream: { readonly isTTY?: boolean | undefined }, env: NodeJS.ProcessEnv = process.env): Paint {
  const plain = stream.isTTY !== true || (env.NO_COLOR !== undefined && env.NO_COLOR !== '') || env.TERM === 'dumb'
  return plain ? (text) => text : (text, colour) => `\u001b[${CODES[colour]}m${text}\u001b[0m`
}

export const VERDICT_COLOURS = {
  VERIFIED: 'green',
  TAMPERED: 'red',
  INCOMPLETE: 'yellow',
  UNVERIFIABLE: 'yellow',
} as const satisfies Record<string, Colour>
