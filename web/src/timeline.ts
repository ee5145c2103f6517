// The run along its time: lost and weak spans, keyframes, loops, and where we are.
import { State, Status } from './state';

const COLORS: Record<number, string> = { [Status.Tracked]: '#3ba7ff', [Status.Weak]: '#ffb000', [Status.Lost]: '#ff5c5c', [Status.Relocalised]: '#2fd08a', [Status.Skipped]: '#ff5c5c' };

export class Timeline {
  private count = 0;

  constructor(private canvas: HTMLCanvasElement, onSeek: (position: number) => void) {
    const seek = (event: PointerEvent) => {
      const box = canvas.getBoundingClientRect();
      onSeek(Math.round(((event.clientX - box.left) / box.width) * (this.count - 1)));
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
    const x = (i: number) => (i / Math.max(1, this.count - 1)) * (width - 2) + 1;
    const step = Math.max(1, width / this.count);
    state.frames.forEach((frame, i) => {
      if (!frame) return;
      context.fillStyle = COLORS[frame.status];
      context.fillRect(x(i) - step / 2, 14, step + 0.5, 8);
    });
    const at = new Map(state.frames.map((frame, i) => [frame?.index, i]));
    context.fillStyle = '#8fa3b8';
    for (const keyframe of state.keyframes.values()) {
      const i = at.get(keyframe.frame);
      if (i !== undefined) context.fillRect(x(i) - 0.5, 24, 1, 6);
    }
    context.fillStyle = '#e05cff';
    for (const [a, b, , removed] of state.edges) {
      const frames = [a, b].map((id) => state.keyframes.get(id)?.frame ?? -1), i = at.get(Math.max(...frames));
      if (i === undefined || removed) continue;
      context.beginPath();
      context.moveTo(x(i), 13);
      context.lineTo(x(i) - 4, 5);
      context.lineTo(x(i) + 4, 5);
      context.fill();
    }
    context.fillStyle = getComputedStyle(canvas).color;
    context.fillRect(x(position) - 1, 2, 2, height - 4);
  }
}
