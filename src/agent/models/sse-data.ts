/** @module Reads the data of server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html, section 9.2.6). */

/** Yields the data of each event; names, ids and comments are ignored, and a truncated event is dropped. */
export async function* sseData(portions: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  let data: string[] = []
  for await (const line of linesOf(portions)) {
    if (line === '') {
      if (data.length > 0) yield data.join('\n')
      data = []
      continue
    }
    const [, field, value] = /^([^:]*)(?::[ ]?(.*))?$/s.exec(line) ?? []
    if (field === 'data') data.push(value ?? '')
  }
}

/** Lines end in CR LF, LF or CR, also if two portions meet between CR and LF. An unterminated last line is dropped. */
async function* linesOf(portions: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  // The decoder drops the byte order mark.
  const decoder = new TextDecoder()
  let rest: string[] = []
  let afterReturn = false
  for await (const portion of portions) {
    let text = decoder.decode(portion, { stream: true })
    if (text === '') continue
    if (afterReturn && text.startsWith('\n')) text = text.slice(1)
    afterReturn = text.endsWith('\r')
    const lines = text.split(/\r\n|\n|\r/)
    for (const [i, line] of lines.entries()) {
      rest.push(line)
      if (i === lines.length - 1) break
      yield rest.join('')
      rest = []
    }
  }
}
