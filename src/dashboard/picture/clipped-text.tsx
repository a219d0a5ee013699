/** @module A text of the picture in a box of its own: cut there, with an ellipsis, whatever font the reader has; its title has it whole. */

export interface ClippedTextProps {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
  readonly text: string
  /** What it says, for its style. */
  readonly kind: string
}

/** SVG does not clip a text by its length; HTML does. */
export function ClippedText({ x, y, width, height, text, kind }: ClippedTextProps) {
  return (
    <foreignObject x={x} y={y} width={width} height={height}>
      <div class={`clipped clipped-${kind}`} title={text}>
        {text}
      </div>
    </foreignObject>
  )
}
