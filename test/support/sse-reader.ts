/** @module Reads server-sent events by the rules of the HTML standard, as far as tests need them. */

interface Frame {
  readonly id: string | undefined
  readonly event: string | undefined
  readonly data: string | undefined
  readonly comment: boolean
}

export interface SseReader {
  /** The next frame; undefined at the end of the stream. */
  next(): Promise<Frame | undefined>
  /** Frames up to and with the first one of that event. */
  until(event: string): Promise<Frame[]>
  /** All frames up to the end. */
  rest(): Promise<Frame[]>
  close(): Promise<void>
}

export function readSse(response: Response): SseReader {
  const reader = (response.body ?? new ReadableStream<Uint8Array>()).getReader()
  const decoder = new TextDecoder()
  let text = ''
  const next = async (): Promise<Frame | undefined> => {
    while (!text.includes('\n\n')) {
      const { done, value } = await reader.read()
      if (done) return undefined
      text += decoder.decode(value, { stream: true })
    }
    const end = text.indexOf('\n\n')
    const frame = text.slice(0, end)
    text = text.slice(end + 2)
    return frameOf(frame)
  }
  const take = async (isLast: (frame: Frame) => boolean): Promise<Frame[]> => {
    const frames: Frame[] = []
    for (;;) {
      const frame = await next()
      if (frame === undefined) return frames
      frames.push(frame)
      if (isLast(frame)) return frames
    }
  }
  return {
    next,
    until: (event) => take((frame) => frame.event === event),
    rest: () => take(() => false),
    close: () => reader.cancel(),
  }
}

function frameOf(text: string): Frame {
  const field = (name: string): string | undefined => new RegExp(`^${name}: (.*)$`, 'm').exec(text)?.[1]
  return { id: field('id'), event: field('event'), data: field('data'), comment: text.startsWith(':') }
}
