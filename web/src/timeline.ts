// The run along its time: what state it was in, keyframes, loops, seconds, and where we are.
import { Edge, State, Status } from './state';

const COLORS: Record<number, string> = { [Status.Tracked]: '#3ba7ff', [Status.Weak]: '#ffb000', [Status.Lost]: '#ff5c5c', [Status.Relocalised]: '#2fd08a', [Status.Skipped]: '#ff5c5c' };
const LOOP = '#e05cff';
const MARGIN = 6; // pixels left and right, for the handle

export class Timeline {
  private count = 0;

  constructor(private canvas: HTMLCanvasElement, onSeek: (position: number) => void) {
    const seek = (event: PointerEvent) => {
      const box = canvas.getBoundingClientRect();
      onSeek(Math.round(((event.clientX - box.left - MARGIN) / (box.width - 2 * MARGIN)) * (this.count - 1)));
    };
    canvas.addEventListener('pointerdown', (event) => {
      canvas.setPointerCapture(event.pointerId);
      seek(event);
    });
    canvas.addEventListener('pointermove', (event) => {
      if (event.buttons) seek(event);
    });
  }

  draw(state: State, position: number) {
    const { canvas } = this, scale = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
    this.count = state.frames.length;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    const context = canvas.getContext('2d')!;
    context.scale(scale, scale);
    if (!this.count) return;
    const x = (i: number) => (i / Math.max(1, this.count - 1)) * (width - 2 * MARGIN) + MARGIN;
    this.drawStates(context, state, x);
    this.drawMarks(context, state, x);
    this.drawSeconds(context, state, x, width);
    context.fillStyle = getComputedStyle(canvas).color;
    context.fillRect(x(position) - 1, 0, 2, 30);
    context.beginPath();
    context.arc(x(position), 17, 5, 0, 7);
    context.fill();
  }

  // One stroke for each run of frames in the same state.
  private drawStates(context: CanvasRenderingContext2D, state: State, x: (i: number) => number) {
    const half = (x(1) - x(0)) / 2 || 1;
    for (let i = 0; i < this.count; ) {
      const status = state.frames[i]?.status;
      let end = i + 1;
      while (end < this.count && state.frames[end]?.status === status) ++end;
      if (status !== undefined) {
        context.fillStyle = COLORS[status];
        const left = x(i) - half, wide = Math.max(2, x(end - 1) + half - left);
        context.fillRect(left, 12, wide, 10);
      }
      i = end;
    }
  }

  private drawMarks(context: CanvasRenderingContext2D, state: State, x: (i: number) => number) {
    const at = new Map(state.frames.map((frame, i) => [frame?.index, i]));
    context.fillStyle = '#8fa3b8';
    for (const keyframe of state.keyframes.values()) {
      const i = at.get(keyframe.frame);
      if (i !== undefined) context.fillRect(x(i) - 0.5, 24, 1, 6);
    }
    context.fillStyle = LOOP;
    for (const [a, b, kind, removed] of state.edges) {
      if (kind === Edge.Temporal || removed) continue;
      const frames = [a, b].map((id) => state.keyframes.get(id)?.frame ?? -1), i = at.get(Math.max(...frames));
      if (i === undefined) continue;
      if (kind === Edge.Local) {
        context.fillRect(x(i) - 0.5, 7, 1, 4);
        continue;
      }
      context.beginPath();
      context.moveTo(x(i), 11);
      context.lineTo(x(i) - 5, 1);
      context.lineTo(x(i) + 5, 1);
      context.fill();
    }
  }

  private drawSeconds(context: CanvasRenderingContext2D, state: State, x: (i: number) => number, width: number) {
    const first = state.frames[0]?.time ?? 0, last = state.frames[this.count - 1]?.time ?? 0;
    const step = [0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800].find((s) => (last - first) / s <= width / 80) ?? 3600;
    context.fillStyle = '#8593a1';
    context.font = '10px system-ui, sans-serif';
    let due = Math.ceil(first / step) * step, free = -1;
    state.frames.forEach((frame, i) => {
      if (!frame || frame.time < due - 1e-3) return;
      const text = due >= 60 ? `${Math.floor(due / 60)}:${String(Math.round(due % 60)).padStart(2, '0')}` : `${+due.toFixed(1)} s`;
      const left = Math.min(width - context.measureText(text).width, Math.max(0, x(i) - 8));
      if (left > free) {
        context.fillText(text, left, 41);
        free = left + context.measureText(text).width + 6;
      }
      due += step;
    });
  }
}
